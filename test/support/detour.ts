// A cable between two processes, of which either direction can be interrupted. Bytes in flight are then held
// and arrive late, when the cable is mended, as when a network loses packets for a while.
import { connect, createServer, type Server, type Socket } from "node:net";

export type Direction = "there" | "back";

export class Detour implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<{ readonly near: Socket; readonly far: Socket }>();
  readonly #held = new Set<Direction>();

  private constructor(to: number) {
    this.#server = createServer((near) => {
      const pair = { near, far: connect(to, "127.0.0.1") };
      this.#pairs.add(pair);
      this.#carry("there", near, pair.far);
      this.#carry("back", pair.far, near);
      for (const end of [near, pair.far]) {
        end.once("close", () => {
          if (near.destroyed && pair.far.destroyed) this.#pairs.delete(pair);
        });
      }
    });
  }

  /** Leads from its own port to the given one. */
  static async to(port: number): Promise<Detour> {
    const detour = new Detour(port);
    await new Promise<void>((resolve) => detour.#server.listen(0, "127.0.0.1", resolve));
    return detour;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  #carry(direction: Direction, from: Socket, to: Socket): void {
    from.on("error", () => undefined);
    from.on("data", (chunk) => to.write(chunk));
    // The end of a connection travels like everything else: not at all while that direction is interrupted.
    from.on("end", () => to.end());
    from.on("close", () => {
      if (!this.#held.has(direction)) to.destroy();
    });
    if (this.#held.has(direction)) from.pause();
  }

  interrupt(...directions: readonly Direction[]): void {
    for (const direction of directions) this.#held.add(direction);
    this.#apply();
  }

  restore(): void {
    this.#held.clear();
    this.#apply();
    for (const { near, far } of this.#pairs) {
      if (near.destroyed) far.destroy();
      if (far.destroyed) near.destroy();
    }
  }

  #apply(): void {
    for (const { near, far } of this.#pairs) {
      if (this.#held.has("there")) near.pause();
      else near.resume();
      if (this.#held.has("back")) far.pause();
      else far.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
    await closed;
  }
}
