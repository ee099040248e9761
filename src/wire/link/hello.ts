// The hello exchange of a link and its rejection rules. The beginning of this frame is the same in every
// future protocol, so hosts of different versions can report why they reject each other.
import { LimpetError } from "../../kernel/errors.ts";
import type { FrameWriter } from "./frame-writer.ts";
import { broken, type MessageReader } from "./message-reader.ts";
import { FRAME_KIND, PROTOCOL } from "./messages.ts";

export interface LinkHello {
  readonly namespace: string;
  /** The address for calls to this host, or "" when it accepts none. */
  readonly address: string;
  /** The version of Limpet. */
  readonly version: string;
}

const FIELDS = 5;

export function writeHello(
  writer: FrameWriter,
  { namespace, address, version }: LinkHello,
  protocol = PROTOCOL,
): Buffer {
  writer.begin();
  writer.message(FIELDS, FRAME_KIND.hello);
  writer.uint(protocol);
  writer.text(namespace);
  writer.text(address);
  writer.text(version);
  return writer.finish();
}

/** Reads the hello of the peer. Throws PROTOCOL when it is invalid or incompatible. */
export function readHello(reader: MessageReader, own: LinkHello): LinkHello {
  if (reader.list() !== 1) throw broken("its first frame is not a hello");
  const fields = reader.list();
  if (fields < 2 || reader.uint() !== FRAME_KIND.hello) throw broken("its first frame is not a hello");
  const protocol = reader.uint();
  if (protocol !== PROTOCOL) {
    throw new LimpetError("PROTOCOL", `it uses link protocol ${protocol}; this host uses ${PROTOCOL}`);
  }
  if (fields !== FIELDS) throw broken("its hello has the wrong number of fields");
  const hello = { namespace: reader.text(), address: reader.text(), version: reader.text() };
  reader.close();
  if (hello.namespace === own.namespace) return hello;
  const names = `${JSON.stringify(hello.namespace)}; this host belongs to ${JSON.stringify(own.namespace)}`;
  throw new LimpetError("PROTOCOL", `it belongs to namespace ${names}`);
}
