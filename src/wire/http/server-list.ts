// The addresses a client may send a call to, and which of them it would rather not. It stays with the one that works.
// One that failed comes last for a moment: calls go elsewhere first, and still reach it when all others fail too. Pure.

export interface Server {
  /** Without a slash at the end. */
  readonly url: string;
  readonly token: string | undefined;
}

/** How long an address that failed comes last. Long enough to pass a restart by, short enough to come back from one. */
const AVOID_MS = 5_000;

export class ServerList {
  readonly #servers: readonly Server[];
  readonly #failedAt = new Map<Server, number>();
  #current = 0;

  constructor(servers: readonly Server[]) {
    this.#servers = servers;
  }

  /** All of them, in the order in which to try them. */
  inOrder(now: number): readonly Server[] {
    if (this.#failedAt.size === 0 && this.#current === 0) return this.#servers;
    const turned = [...this.#servers.slice(this.#current), ...this.#servers.slice(0, this.#current)];
    const avoided = turned.filter((server) => this.#isAvoided(server, now));
    return [...turned.filter((server) => !avoided.includes(server)), ...avoided];
  }

  #isAvoided(server: Server, now: number): boolean {
    const failedAt = this.#failedAt.get(server);
    return failedAt !== undefined && now - failedAt < AVOID_MS;
  }

  failed(server: Server, now: number): void {
    this.#failedAt.set(server, now);
  }

  /** It answered a call that was sent at `sentAt`. What it failed to do since then weighs more. */
  worked(server: Server, sentAt: number): void {
    const failedAt = this.#failedAt.get(server);
    if (failedAt !== undefined && failedAt > sentAt) return;
    this.#failedAt.delete(server);
    this.#current = this.#servers.indexOf(server);
  }
}
