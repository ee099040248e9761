// A proxy between a process and its database that can lose responses: requests arrive and take effect, and
// the connection is cut before the response. New connections are cut as well until it forwards everything
// again. It can also be silent: it accepts connections and bytes, and forwards nothing.
import { connect, createServer, type Server, type Socket } from "node:net";

export class Middleman implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  losesAnswers = false;
  isSilent = false;
  #trigger: string | undefined;

  private constructor(to: number) {
    this.#server = createServer((near) => {
      if (this.losesAnswers) {
        near.destroy();
        return;
      }
      const far = connect(to, "127.0.0.1");
      this.#join(near, far);
      this.#join(far, near);
      near.on("data", (chunk) => {
        this.#look(chunk);
        if (!this.isSilent) far.write(chunk);
      });
      far.on("data", (chunk) => {
        if (this.isSilent) return;
        if (this.losesAnswers) far.destroy();
        else near.write(chunk);
      });
    });
  }

  /** Forwards connections to its own port. */
  static async before(port: number): Promise<Middleman> {
    const middleman = new Middleman(port);
    await new Promise<void>((resolve) => middleman.#server.listen(0, "127.0.0.1", resolve));
    return middleman;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /**
   * Loses answers from the first request that contains `text`, such as the name of a statement. Requests
   * before it are answered: a process polls its database at any time, and a poll without an answer costs the
   * process the connection that the request needs.
   */
  loseAnswersFrom(text: string): void {
    this.#trigger = text;
  }

  #look(request: Buffer): void {
    if (this.#trigger === undefined || !request.includes(this.#trigger)) return;
    this.#trigger = undefined;
    this.losesAnswers = true;
  }

  #join(socket: Socket, other: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      other.destroy();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
