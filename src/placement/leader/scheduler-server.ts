// The server of a scheduler for hosts of other processes. It is opened once, on demand: a process that is
// alone opens no port.

export interface OpenSchedulerServer {
  readonly address: string;
  close(): Promise<void>;
}

export class SchedulerServer {
  readonly #listen: () => Promise<OpenSchedulerServer>;
  #server: OpenSchedulerServer | undefined;
  #opening: Promise<void> | undefined;
  #stopped = false;

  constructor(listen: () => Promise<OpenSchedulerServer>) {
    this.#listen = listen;
  }

  get address(): string | undefined {
    return this.#server?.address;
  }

  /** False: it is open, or about to be. */
  get isClosed(): boolean {
    return this.#server === undefined && this.#opening === undefined;
  }

  open(): Promise<void> {
    this.#opening ??= this.#listen()
      .then(async (server) => {
        if (this.#stopped) await server.close();
        else this.#server = server;
      })
      .finally(() => {
        this.#opening = undefined;
      });
    return this.#opening;
  }

  /** From now on a server that is being opened is closed at once. */
  stop(): void {
    this.#stopped = true;
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => {});
    await this.#server?.close();
  }
}
