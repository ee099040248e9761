// The leader as a process of its own: nothing of it is in the process of the hosts, and everything they tell each other goes
// over a socket.
import { OtherProcess } from "./cluster/other-process.ts";

export interface LeaderOptions {
  /** What schedulers agree on who leads in. */
  readonly store: string;
}

export class LeaderProcess {
  readonly address: string;
  readonly #process: OtherProcess;

  private constructor(process: OtherProcess) {
    this.#process = process;
    this.address = process.hello as string;
  }

  /** It leads when it is ready, unless another one does. */
  static async start(options: LeaderOptions): Promise<LeaderProcess> {
    return new LeaderProcess(await OtherProcess.start("leader-process.ts", options));
  }

  /** Processor time it has taken so far. */
  async cpuMs(): Promise<number> {
    return (await this.#process.ask("cpu")) as number;
  }

  /** In good order: who comes after it leads at once. */
  async end(): Promise<void> {
    await this.#process.end("SIGTERM");
  }
}
