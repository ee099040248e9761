// A cluster for tests: hosts with real actors in one process, on virtual time, and every fault of a cluster,
// under the control of the test. The same seed and the same test give the same run.

import type { ActorClass } from "../actors/routing/remote.ts";
import { checkRuntime } from "../host/runtime.ts";
import { type Duration, formatDuration, parseDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import type { Prng } from "../kernel/prng.ts";
import { Chaos, type ChaosOptions } from "./chaos.ts";
import { BEGINNING } from "./local-clock.ts";
import type { Process } from "./process.ts";
import { settle } from "./settling.ts";
import { showLine } from "./story.ts";
import { percent, shareOf, TestDatabase } from "./test-database.ts";
import { isDown, TestHost } from "./test-host.ts";
import { hostOptionsOf, type TestHostChanges, type TestWorldOptions, worldOptionsOf } from "./test-world-options.ts";
import { KIND } from "./timeline.ts";
import { World } from "./world.ts";
import type { HostOptions, WorldHost } from "./world-host.ts";

/** A host, its name, or its place in `world.hosts`. */
export type HostRef = TestHost | string | number;

/** Opens a world; its hosts are up and have joined. */
export async function openWorld(options: TestWorldOptions): Promise<TestWorld> {
  checkRuntime();
  const world = new TestWorld(options);
  await world.begin();
  return world;
}

export class TestWorld implements AsyncDisposable {
  readonly seed: number;
  /** There is at least one. */
  readonly hosts: readonly [TestHost, ...TestHost[]];
  readonly database: TestDatabase;
  readonly #world: World;
  readonly #chance: Prng;
  #chaos = 0;
  #stopped: Promise<void> | undefined;

  constructor(options: TestWorldOptions) {
    const { hosts, ...rest } = worldOptionsOf(options);
    this.#world = new World(rest);
    this.seed = this.#world.seed;
    this.#chance = this.#world.chance.child("test");
    this.database = new TestDatabase(this.#world.database, this.#world.story);
    const open = (host: HostOptions): TestHost =>
      new TestHost(this.#world.addHost(host), this.#world, () => this.#checkOpen());
    this.hosts = hosts.map(open) as [TestHost, ...TestHost[]];
  }

  /** Called once, by openWorld. */
  async begin(): Promise<void> {
    for (const host of this.#world.hosts) await host.start();
    await this.settled();
  }

  /** The world was asked to stop: nothing can be done with it any more. */
  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  #checkOpen(): void {
    if (this.isStopped) {
      throw new LimpetError("STOPPING", "this world has been stopped; open another one with openWorld()");
    }
  }

  // ——— Time and chance.

  /** Milliseconds since 1970, by an exact clock. Worlds begin on 1 January 2030. */
  get now(): number {
    return BEGINNING + this.#world.now;
  }

  /**
   * Lets time pass. Several parts of a test may wait for different moments at once, so this is also how a
   * part sleeps.
   */
  async advance(duration: Duration): Promise<void> {
    this.#checkOpen();
    await this.#world.advance(parseDuration(duration, "advance"));
  }

  /**
   * A random number from 0 up to 1 that follows from the seed. Tests must use it for their random decisions.
   */
  random(): number {
    return this.#chance.number();
  }

  /** A random item, drawn from the seed. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new LimpetError("ARGUMENT_INVALID", "pick: there is nothing to pick from");
    return this.#chance.pick(items);
  }

  /** A random running host, drawn from the seed; any host if all are down. */
  someHost(): TestHost {
    const up = this.hosts.filter(({ isUp }) => isUp);
    return this.pick(up.length > 0 ? up : this.hosts);
  }

  // ——— Locations.

  /** By name or place. */
  host(which: HostRef): TestHost {
    this.#checkOpen();
    const { hosts } = this;
    const found = hosts.find((host, i) => host === which || host.name === which || i === which);
    if (found !== undefined) return found;
    const shown = which instanceof TestHost ? `${which.name} is a host of another world` : `there is no host ${which}`;
    const known = hosts.map(({ name }, i) => `${name} (${i})`).join(", ");
    throw new LimpetError("HOST_UNKNOWN", `${shown}; this world has ${known}`);
  }

  /** The host of an actor, by the tables of awake hosts; undefined if none of them knows it. */
  async where(type: ActorClass | string, id: string): Promise<TestHost | undefined> {
    this.#checkOpen();
    const name = typeof type === "string" ? type : (type.options?.name ?? type.name);
    for (const host of this.hosts) {
      if (!host.isUp || host.isAsleep || !host.app.host.status().ready) continue;
      const { owner } = await host.run(({ host }) => host.where(name, id));
      if (owner !== undefined) return this.hosts.find((one) => one.isUp && one.app.host.status().address === owner);
    }
    return undefined;
  }

  /**
   * Lets time pass until every running host is ready and nothing moves. Rejects with NOT_SETTLED when that
   * takes too long.
   */
  async settled(within: Duration = "2m"): Promise<void> {
    this.#checkOpen();
    await settle(this, parseDuration(within, "settled"));
  }

  // ——— The network.

  /** Cuts both directions between two hosts. There is no notification: they detect it by silence. */
  partition(a: HostRef, b: HostRef): void {
    this.cut(a, b);
    this.cut(b, a);
  }

  /** Messages from `from` do not reach `to`; the other direction is open. */
  cut(from: HostRef, to: HostRef): void {
    const [a, b] = this.#pair(from, to);
    this.#record(a, `is not heard by ${b.name} any more`);
    this.#world.network.change(a.place, b.place, { isOpen: false });
  }

  /** Cuts a host off from all other hosts. It still reaches the database. */
  isolate(which: HostRef): void {
    const host = this.host(which);
    for (const other of this.hosts) if (other !== host) this.partition(host, other);
  }

  /** Messages between the two take longer, by this mean delay. */
  lag(a: HostRef, b: HostRef, by: Duration): void {
    this.#between(a, b, `lags by ${by}`, { delayMs: parseDuration(by, "lag") });
  }

  /** This share of packets between the two is lost and has to be sent again. */
  loss(a: HostRef, b: HostRef, share: number): void {
    this.#between(a, b, `loses ${percent(share)} of its packets`, { loss: shareOf(share, "loss") });
  }

  /** Ends all faults of the line between two hosts. */
  mend(a: HostRef, b: HostRef): void {
    this.#between(a, b, "is mended", { isOpen: true, delayMs: 0, loss: 0 });
  }

  #between(from: HostRef, to: HostRef, what: string, change: Parameters<World["network"]["change"]>[2]): void {
    const [a, b] = this.#pair(from, to);
    this.#record(a, `its line to ${b.name} ${what}`);
    this.#world.network.change(a.place, b.place, change);
    this.#world.network.change(b.place, a.place, change);
  }

  #pair(from: HostRef, to: HostRef): [WorldHost, WorldHost] {
    const pair: [WorldHost, WorldHost] = [this.#hostOf(from), this.#hostOf(to)];
    if (pair[0] !== pair[1]) return pair;
    throw new LimpetError("ARGUMENT_INVALID", `${pair[0].name} needs no network to talk to itself; name two hosts`);
  }

  // ——— Processes and their clocks.

  /**
   * Its process ends at once, with everything in its memory. Calls that were made through it reject with
   * ANSWER_LOST.
   */
  crash(which: HostRef): void {
    this.#end(which, "crashes", false);
  }

  /**
   * Like a crash, without any notification: its machine has lost its power, and its connections fall silent.
   */
  losePower(which: HostRef): void {
    this.#end(which, "loses its power", true);
  }

  #end(which: HostRef, how: string, quietly: boolean): void {
    const host = this.#hostOf(which);
    if (host.process === undefined) return;
    this.#record(host, how);
    host.process.end(quietly);
  }

  /**
   * Starts a host that is down. A running one first stops in an orderly way. The changes replace the options
   * that the host was opened with: other actors or settings are an upgrade. Resolves when the host has joined
   * the cluster.
   */
  async restart(which: HostRef, changes: TestHostChanges = {}): Promise<void> {
    const host = this.#hostOf(which);
    const options = hostOptionsOf(changes, host.options.settings);
    // Repeats if another call has started it meanwhile: the last call determines its options.
    while (host.process !== undefined) {
      this.#record(host, "is asked to stop");
      await host.stop();
    }
    this.#record(host, "starts");
    await host.start(options);
  }

  /** Stops its process in an orderly way: its actors move to other hosts. */
  async stopHost(which: HostRef): Promise<void> {
    const host = this.#hostOf(which);
    if (host.process !== undefined) this.#record(host, "is asked to stop");
    await host.stop();
  }

  /** Suspends all events of its process for a while; then it continues with its old state. */
  pause(which: HostRef, duration: Duration): void {
    this.#sleep(which, parseDuration(duration, "pause"), "pause");
  }

  /** Its machine sleeps: like a pause, but its monotonic clock stands still. */
  suspend(which: HostRef, duration: Duration): void {
    this.#sleep(which, parseDuration(duration, "suspend"), "suspend");
  }

  #sleep(which: HostRef, ms: number, how: "pause" | "suspend"): void {
    const [host, process] = this.#running(which);
    this.#record(host, `${how === "pause" ? "pauses" : "is suspended"} for ${formatDuration(ms)}`);
    process.sleep(ms, how);
  }

  /** Sets its wall clock by this amount: "1h", "-1h". */
  jumpClock(which: HostRef, by: Duration): void {
    const [host, process] = this.#running(which);
    const isBack = typeof by === "string" ? by.trim().startsWith("-") : by < 0;
    const far = parseDuration(typeof by === "string" ? by.trim().replace(/^-/, "") : Math.abs(by), "jumpClock");
    this.#record(host, `its clock jumps ${isBack ? "back" : "ahead"} by ${formatDuration(far)}`);
    process.clock.jump(isBack ? -far : far);
  }

  /** Its clocks run at another rate: 1.02 gains 20 ms in a second. */
  drift(which: HostRef, rate: number): void {
    const [host, process] = this.#running(which);
    if (!(rate >= 0.1 && rate <= 10)) {
      throw new LimpetError("OPTION_INVALID", `drift: ${rate} is not a rate; 1 is right, 1.02 is fast, 0.98 is slow`);
    }
    this.#record(host, `its clock goes at ${rate}`);
    process.clock.drift(rate);
  }

  /**
   * Ends all faults of lines, clocks and the database, and resumes all processes. Crashed hosts stay down; a
   * wall clock that was set stays set.
   */
  heal(): void {
    this.#checkOpen();
    this.#heal();
  }

  #heal(): void {
    this.#world.story.record("", "info", "everything is healed");
    this.#world.heal();
    for (const { process } of this.#world.hosts) process?.clock.drift(1);
  }

  /**
   * Random faults, drawn from the seed, for this long; the test continues meanwhile. Then all faults end,
   * stopped hosts start again, and the world settles.
   */
  async chaos(duration: Duration, options: ChaosOptions = {}): Promise<void> {
    this.#checkOpen();
    const { timeline } = this.#world;
    const chaos = new Chaos(
      this,
      this.#world.chance.child(`chaos ${++this.#chaos}`),
      options,
      (ms, run) => void timeline.plan(timeline.now + ms, KIND.script, undefined, run),
    );
    await chaos.run(parseDuration(duration, "chaos"));
  }

  #hostOf(which: HostRef): WorldHost {
    return this.#world.hosts[this.hosts.indexOf(this.host(which))]!;
  }

  #running(which: HostRef): [WorldHost, Process] {
    const host = this.#hostOf(which);
    if (host.process === undefined) throw isDown(host.name);
    return [host, host.process];
  }

  // ——— Story.

  /** Equal for two runs in which all events happened in the same order at the same times. */
  get trace(): string {
    return this.#world.timeline.trace;
  }

  /** Log lines of the hosts and faults, one line each, in order. */
  get story(): readonly string[] {
    return this.#world.story.lines.filter(({ level }) => level !== "debug").map(showLine);
  }

  /** Adds a line of the test to the story. */
  note(text: string): void {
    this.#world.story.record("test", "info", text);
  }

  /** The last part of the story, for printing. */
  tellStory(lines = 200): string {
    return this.story.slice(-lines).join("\n");
  }

  #record(host: WorldHost, event: string): void {
    this.#world.story.record(host.name, "warn", event);
  }

  // ——— The end.

  /** Ends all faults and stops every host in an orderly way. Nothing can be done with the world then. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#heal();
    // A host that goes down meanwhile has stopped too.
    await Promise.allSettled(this.#world.hosts.filter(({ isUp }) => isUp).map((host) => host.stop()));
    this.#world.end(new LimpetError("STOPPING", "this world has been stopped"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
