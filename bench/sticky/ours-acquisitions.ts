// Limpet: number of sticky actors per second that one leader grants. The leader has its own process. Hosts
// without actors send requests from this one, each over its own control stream, with so many requests in
// flight.
import { join } from "node:path";
import { setImmediate as soon } from "node:timers/promises";
import type { Make, Measurement } from "../case.ts";
import { LeaderProcess } from "../leader.ts";
import { Fleet, type StandInHost } from "../stand-in-hosts.ts";
import { pause, until } from "../until.ts";
import { StickyPinger } from "./actors.ts";
import { ACQUISITIONS, LEADER_TIME } from "./figures.ts";
import { idOf } from "./ids.ts";

/** Ids that are prepared for each second, so that finding them is not part of the measurement. */
const READY_PER_SECOND = 150_000;
const STEP = 1_000;

export const acquisitions: Make = async ({ folder, durationMs, warmupMs, params }) => {
  const leader = await LeaderProcess.start({ store: join(folder, "ours.db") });
  const questions = new Questions();
  questions.fleet = await Fleet.join(Number(params.hosts), [leader], questions, StickyPinger);
  const measure = async (ms: number): Promise<Measurement> => {
    await questions.prepare(Math.ceil((ms / 1_000) * READY_PER_SECOND));
    questions.begin(Number(params.inFlight));
    const [before, cpu, start] = [questions.granted, await leader.cpuMs(), performance.now()];
    await pause(ms);
    const [count, seconds] = [questions.granted - before, (performance.now() - start) / 1_000];
    const cpuMs = (await leader.cpuMs()) - cpu;
    await questions.end();
    return { [ACQUISITIONS]: count / seconds, [LEADER_TIME]: (cpuMs * 1_000) / count };
  };
  await measure(warmupMs);
  return {
    run: () => measure(durationMs),
    async close() {
      questions.fleet!.leave();
      await leader.end();
    },
  };
};

/** A host that has been granted an actor requests another one at once. */
class Questions {
  fleet: Fleet | undefined;
  granted = 0;
  #asked = 0;
  #numbered = 0;
  #isOpen = false;
  #failure: Error | undefined;
  readonly #ready = new Map<StandInHost, string[]>();

  /** In small steps: leases have to be renewed meanwhile. */
  async prepare(count: number): Promise<void> {
    for (const host of this.fleet!.hosts) if (!this.#ready.has(host)) this.#ready.set(host, []);
    for (let done = 0; done < count; done += STEP) {
      this.#number(STEP);
      await soon();
    }
  }

  #number(count: number): void {
    for (let i = 0; i < count; i++) {
      const id = idOf(this.#numbered++);
      this.#ready.get(this.fleet!.ownerOf(id))!.push(id);
    }
  }

  begin(inFlight: number): void {
    const { hosts } = this.fleet!;
    this.#isOpen = true;
    for (let i = 0; i < inFlight; i++) this.#ask(hosts[i % hosts.length]!);
  }

  #ask(host: StandInHost): void {
    let id = this.#ready.get(host)!.pop();
    while (id === undefined) {
      this.#number(STEP);
      id = this.#ready.get(host)!.pop();
    }
    this.#asked++;
    host.ask(id);
  }

  answered(host: StandInHost, _: string, error: Error | undefined): void {
    this.#failure ??= error;
    this.granted++;
    if (this.#isOpen) this.#ask(host);
  }

  /**
   * Resolves when all requests were answered. Rejects if a host does not hold an actor that it was granted.
   */
  async end(): Promise<void> {
    this.#isOpen = false;
    await until("an answer to everything", () => this.granted === this.#asked);
    if (this.#failure !== undefined) throw this.#failure;
    const { held } = this.fleet!;
    if (held !== this.#asked) throw new Error(`${this.#asked} actors were asked for, and ${held} are held`);
  }
}
