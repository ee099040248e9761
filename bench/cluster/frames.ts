// Minimal protocol for calls between processes: frames of a length (4 bytes) and a MessagePack array of
// number and payload, number and payload …; all calls of one tick form one frame. Nothing is routed, timed or
// cancelled.
import type { Socket } from "node:net";
import { Packr, Unpackr } from "msgpackr";

const HEAD = 4;

export class FrameLink {
  readonly #socket: Socket;
  readonly #packr = new Packr({ useRecords: false });
  readonly #unpackr = new Unpackr({ useRecords: false });
  readonly #receive: (number: number, payload: unknown) => void;
  #sending: unknown[] = [];
  #rest: Buffer | undefined;

  constructor(socket: Socket, receive: (number: number, payload: unknown) => void) {
    this.#socket = socket.setNoDelay(true);
    this.#receive = receive;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  send(number: number, payload: unknown): void {
    // Ticks run after all promises that could settle have: all pending sends are done by then.
    if (this.#sending.push(number, payload) === 2) process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    const body = this.#packr.pack(this.#sending);
    this.#sending = [];
    const frame = Buffer.allocUnsafe(HEAD + body.length);
    frame.writeUInt32BE(body.length);
    frame.set(body, HEAD);
    this.#socket.write(frame);
  };

  #read(chunk: Buffer): void {
    const data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (data.length - at >= HEAD) {
      const end = at + HEAD + data.readUInt32BE(at);
      if (end > data.length) break;
      const items = this.#unpackr.unpack(data.subarray(at + HEAD, end)) as unknown[];
      for (let i = 0; i < items.length; i += 2) this.#receive(items[i] as number, items[i + 1]);
      at = end;
    }
    this.#rest = at === data.length ? undefined : data.subarray(at);
  }
}
