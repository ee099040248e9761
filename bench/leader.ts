// The leader in its own process: it shares nothing with the process of the hosts, and all messages between
// them go over a socket.
import { clusterSecret } from "../src/host/open-store.ts";
import type { ClusterSecurity } from "../src/wire/cluster-security.ts";
import { OtherProcess } from "./cluster/other-process.ts";

export interface LeaderOptions {
  /** Store in which schedulers elect their leader. */
  readonly store: string;
}

export class LeaderProcess {
  readonly address: string;
  /** Requirements for joining hosts. */
  readonly security: ClusterSecurity;
  readonly #process: OtherProcess;

  private constructor(process: OtherProcess, secret: string) {
    this.#process = process;
    this.security = { keys: [], secret };
    this.address = process.hello as string;
  }

  /** It leads when it is ready, unless another scheduler leads. */
  static async start(options: LeaderOptions): Promise<LeaderProcess> {
    const process = await OtherProcess.start("leader-process.ts", options);
    return new LeaderProcess(process, await clusterSecret(options.store));
  }

  /** Processor time so far. */
  async cpuMs(): Promise<number> {
    return (await this.#process.ask("cpu")) as number;
  }

  /** Stops in an orderly way: its successor leads at once. */
  async end(): Promise<void> {
    await this.#process.end("SIGTERM");
  }
}
