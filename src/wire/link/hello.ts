// How the two sides of a link introduce themselves, and when they refuse each other. Of this frame the beginning stays
// as it is in every protocol to come, so that hosts of different ages can still tell each other why they do not talk.
import { LimpetError } from "../../kernel/errors.ts";
import type { FrameWriter } from "./frame-writer.ts";
import { broken, type MessageReader } from "./message-reader.ts";
import { KIND, PROTOCOL } from "./messages.ts";

export interface Hello {
  readonly namespace: string;
  /** Where it is called, or "" when nobody can. */
  readonly address: string;
  /** Of Limpet. */
  readonly version: string;
}

const FIELDS = 5;

export function writeHello(writer: FrameWriter, { namespace, address, version }: Hello, protocol = PROTOCOL): Buffer {
  writer.begin();
  writer.message(FIELDS, KIND.hello);
  writer.uint(protocol);
  writer.text(namespace);
  writer.text(address);
  writer.text(version);
  return writer.finish();
}

/** Reads the other side's hello. Throws PROTOCOL when it is none, or one with which nothing can be said. */
export function readHello(reader: MessageReader, own: Hello): Hello {
  if (reader.list() !== 1) throw broken("it did not say hello");
  const fields = reader.list();
  if (fields < 2 || reader.uint() !== KIND.hello) throw broken("it did not say hello");
  const protocol = reader.uint();
  if (protocol !== PROTOCOL) {
    throw new LimpetError("PROTOCOL", `it speaks link protocol ${protocol}, and this host speaks ${PROTOCOL}`);
  }
  if (fields !== FIELDS) throw broken("its hello has a wrong shape");
  const hello = { namespace: reader.text(), address: reader.text(), version: reader.text() };
  reader.close();
  if (hello.namespace === own.namespace) return hello;
  const names = `${JSON.stringify(hello.namespace)}, and this host to ${JSON.stringify(own.namespace)}`;
  throw new LimpetError("PROTOCOL", `it belongs to namespace ${names}`);
}
