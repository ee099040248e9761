// The leader as a process of its own: nothing of it is in the process of the hosts, and everything they tell each other goes
// over a socket.
import { clusterSecret } from "../src/host/open-store.ts";
import type { ClusterSecurity } from "../src/wire/cluster-security.ts";
import { OtherProcess } from "./cluster/other-process.ts";

export interface LeaderOptions {
  /** What schedulers agree on who leads in. */
  readonly store: string;
}

export class LeaderProcess {
  readonly address: string;
  /** What it asks of hosts that join. */
  readonly security: ClusterSecurity;
  readonly #process: OtherProcess;

  private constructor(process: OtherProcess, secret: string) {
    this.#process = process;
    this.security = { keys: [], secret };
    this.address = process.hello as string;
  }

  /** It leads when it is ready, unless another one does. */
  static async start(options: LeaderOptions): Promise<LeaderProcess> {
    const process = await OtherProcess.start("leader-process.ts", options);
    return new LeaderProcess(process, await clusterSecret(options.store));
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
