// The addresses of a client's servers, in the order to try them. The client stays with a server that works. A
// failed server comes last for a while: calls try the others first and still reach it when all others fail.
// Pure.

export interface ServerAddress {
  /** Without a slash at the end. */
  readonly url: string;
  readonly token: string | undefined;
}

/**
 * Time for which a failed address comes last: long enough to skip a restart, short enough to return after
 * one.
 */
const AVOID_MS = 5_000;

export class ServerList {
  readonly #servers: readonly ServerAddress[];
  readonly #failedAt = new Map<ServerAddress, number>();
  #current = 0;

  constructor(servers: readonly ServerAddress[]) {
    this.#servers = servers;
  }

  /** All addresses, in the order to try them. */
  inOrder(now: number): readonly ServerAddress[] {
    if (this.#failedAt.size === 0 && this.#current === 0) return this.#servers;
    const turned = [...this.#servers.slice(this.#current), ...this.#servers.slice(0, this.#current)];
    const avoided = turned.filter((server) => this.#isAvoided(server, now));
    return [...turned.filter((server) => !avoided.includes(server)), ...avoided];
  }

  #isAvoided(server: ServerAddress, now: number): boolean {
    const failedAt = this.#failedAt.get(server);
    return failedAt !== undefined && now - failedAt < AVOID_MS;
  }

  failed(server: ServerAddress, now: number): void {
    this.#failedAt.set(server, now);
  }

  /** The server answered a call that was sent at `sentAt`. A later failure outweighs it. */
  worked(server: ServerAddress, sentAt: number): void {
    const failedAt = this.#failedAt.get(server);
    if (failedAt !== undefined && failedAt > sentAt) return;
    this.#failedAt.delete(server);
    this.#current = this.#servers.indexOf(server);
  }
}
