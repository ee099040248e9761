// gRPC by hand: frames and headers as they are on the wire, valid or invalid.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { HostReportSchema } from "../proto/gen/limpet/control/v1/control_pb.js";
import { writeHostMessage } from "./codec/message-codec.ts";
import { HELLO } from "./control-kit.test.ts";

export const SERVICE = "/limpet.control.v1.Scheduler";

/** A message as gRPC frames it: a flag, four bytes of length, the bytes. */
export function frame(bytes: Uint8Array, flag = 0, length = bytes.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
}

/** The messages in the received bytes. */
export function unframe(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    messages.push(bytes.subarray(at + 5, end));
    at = end;
  }
  return messages;
}

export const report = (init: MessageInitShape<typeof HostReportSchema>): Buffer =>
  frame(toBinary(HostReportSchema, create(HostReportSchema, init)));

export const HELLO_FRAME: Buffer = frame(toBinary(HostReportSchema, writeHostMessage(HELLO)));

export function dial(t: TestContext, port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  t.after(() => session.destroy());
  return session;
}

export interface RawAnswer {
  readonly status: number | undefined;
  readonly grpcStatus: string | undefined;
  readonly code: string | undefined;
  readonly message: string;
  readonly messages: Buffer[];
}

export interface RawCall {
  readonly stream: ClientHttp2Stream;
  readonly answer: Promise<RawAnswer>;
}

export function call(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}): RawCall {
  const stream = session.request(
    { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers", ...headers },
    { endStream: false },
  );
  return { stream, answer: read(stream) };
}

export const callReport = (session: ClientHttp2Session): RawCall => call(session, `${SERVICE}/ReportActorTypes`);

function read(stream: ClientHttp2Stream): Promise<RawAnswer> {
  let head: IncomingHttpHeaders = {};
  let tail: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  stream.on("response", (headers) => {
    head = headers;
  });
  stream.on("trailers", (headers) => {
    tail = headers;
  });
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => {});
  return new Promise((resolve) =>
    stream.once("close", () => {
      const { "grpc-status": grpcStatus, "limpet-code": code, "grpc-message": message = "" } = { ...head, ...tail };
      resolve({
        status: head[":status"] as number | undefined,
        grpcStatus: grpcStatus as string | undefined,
        code: code as string | undefined,
        message: decodeURIComponent(message as string),
        messages: unframe(Buffer.concat(chunks)),
      });
    }),
  );
}

/** A server with a given answer to every stream. */
export async function openRawServer(t: TestContext, answer: (stream: ServerHttp2Stream) => void) {
  const server = createServer();
  server.on("session", (session) => {
    session.on("error", () => {});
    t.after(() => session.destroy());
  });
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    answer(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}
