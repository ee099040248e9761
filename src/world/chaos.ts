// Random faults for a test's world, drawn from its seed. Each fault ends by itself after a while, or when the
// chaos is over.
import { type Duration, parseDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import type { Prng } from "../kernel/prng.ts";
import type { TestHost } from "./test-host.ts";
import type { TestWorld } from "./test-world.ts";

export interface ChaosOptions {
  /** Faults that may occur; all of them by default. */
  readonly faults?: readonly ChaosFault[];
  /** Mean time between two faults. */
  readonly every?: Duration;
}

type Later = (ms: number, run: () => void) => void;

const DOWN_MS = 5_000;
const LINE_MS = 5_000;
const DATABASE_MS = 2_000;

const FAULTS = {
  /** A process ends with everything in its memory, and starts again after a while. */
  crash: (chaos) => chaos.withHost((host, world) => chaos.down(host, () => world.crash(host))),
  /** Like a crash, without any notification of other hosts. */
  "power-loss": (chaos) => chaos.withHost((host, world) => chaos.down(host, () => world.losePower(host))),
  /** A host stops in an orderly way and starts again, as in a rollout of a new version. */
  restart: (chaos) => chaos.withHost((host) => chaos.down(host, () => {}, 0)),
  /** A process hangs and continues later with its old state. */
  pause: (chaos) => chaos.withHost((host, world) => world.pause(host, chaos.long())),
  /** A machine sleeps, and its monotonic clock stands still. */
  suspend: (chaos) => chaos.withHost((host, world) => world.suspend(host, chaos.long())),
  /** Two hosts cannot reach each other. */
  partition: (chaos) => chaos.withPair((a, b, world) => chaos.line(a, b, () => world.partition(a, b))),
  /** Messages in one direction between two hosts do not arrive. */
  cut: (chaos) => chaos.withPair((a, b, world) => chaos.line(a, b, () => world.cut(a, b))),
  /** One host is cut off from all others. */
  isolate: (chaos) =>
    chaos.withHost((host, world) => {
      world.isolate(host);
      chaos.later(LINE_MS, () => {
        for (const other of world.hosts) if (other !== host) world.mend(host, other);
      });
    }),
  /** Messages between two hosts are late. */
  lag: (chaos) => chaos.withPair((a, b, world) => chaos.line(a, b, () => world.lag(a, b, chaos.upTo(2_000)))),
  /** Messages between two hosts are lost and sent again. */
  loss: (chaos) => chaos.withPair((a, b, world) => chaos.line(a, b, () => world.loss(a, b, chaos.chance.number()))),
  /** A wall clock is set to another time. */
  "clock-jump": (chaos) =>
    chaos.withHost((host, world) => world.jumpClock(host, chaos.upTo(3_600_000) * chaos.chance.pick([-1, 1]))),
  /** A clock is a little too fast or too slow. */
  "clock-drift": (chaos) => chaos.withHost((host, world) => world.drift(host, chaos.chance.between(0.98, 1.02))),
  /** The database does not answer. */
  "database-down": (chaos) => {
    chaos.world.database.goDown();
    chaos.later(DATABASE_MS, () => chaos.world.database.comeBack());
  },
  /** Some requests to the database fail without an effect. */
  "database-failing": (chaos) => {
    chaos.world.database.failing(chaos.chance.number());
    chaos.later(DATABASE_MS, () => chaos.world.database.failing(0));
  },
  /** Some requests to the database fail although they took effect. */
  "database-losing-answers": (chaos) => {
    chaos.world.database.losingAnswers(chaos.chance.number());
    chaos.later(DATABASE_MS, () => chaos.world.database.losingAnswers(0));
  },
  /** The database is slow. */
  "database-slow": (chaos) => {
    chaos.world.database.slow(chaos.upTo(1_000), chaos.chance.number());
    chaos.later(DATABASE_MS, () => chaos.world.database.slow(0, 0));
  },
} as const satisfies Record<string, (chaos: Chaos) => void>;

export type ChaosFault = keyof typeof FAULTS;

/** The names of all faults. */
export const CHAOS_FAULTS = Object.keys(FAULTS) as readonly ChaosFault[];

export class Chaos {
  readonly world: TestWorld;
  readonly chance: Prng;
  readonly #faults: readonly ChaosFault[];
  readonly #everyMs: number;
  readonly #plan: Later;
  /** Hosts that the chaos brought down, with the pending attempt to start them. */
  readonly #down = new Map<TestHost, Promise<void>>();
  #isOver = false;

  constructor(world: TestWorld, chance: Prng, { faults = CHAOS_FAULTS, every = "3s" }: ChaosOptions, plan: Later) {
    const unknown = faults.find((fault) => !Object.hasOwn(FAULTS, fault));
    if (unknown !== undefined || faults.length === 0) {
      const what = unknown === undefined ? "an empty list" : `there is no fault called ${unknown}`;
      throw new LimpetError("OPTION_INVALID", `faults: ${what}; there are ${CHAOS_FAULTS.join(", ")}`);
    }
    this.world = world;
    this.chance = chance;
    this.#faults = faults;
    this.#everyMs = Math.max(parseDuration(every, "every"), 1);
    this.#plan = plan;
  }

  async run(ms: number): Promise<void> {
    const { world, chance } = this;
    const end = world.now + ms;
    try {
      for (;;) {
        const wait = Math.ceil(chance.exponential(this.#everyMs));
        if (world.now + wait >= end) break;
        await world.advance(wait);
        FAULTS[chance.pick(this.#faults)](this);
      }
      await world.advance(end - world.now);
    } finally {
      this.#isOver = true;
    }
    world.heal();
    for (const [host, inProgress] of this.#down) {
      await inProgress;
      if (!host.isUp) await world.restart(host);
    }
    await world.settled();
  }

  // ——— Helpers for faults.

  withHost(strike: (host: TestHost, world: TestWorld) => void): void {
    const up = this.world.hosts.filter(({ isUp }) => isUp);
    if (up.length > 0) strike(this.chance.pick(up), this.world);
  }

  withPair(strike: (a: TestHost, b: TestHost, world: TestWorld) => void): void {
    const [a, b] = this.chance.shuffle(this.world.hosts);
    if (a !== undefined && b !== undefined) strike(a, b, this.world);
  }

  line(a: TestHost, b: TestHost, strike: () => void): void {
    strike();
    this.later(LINE_MS, () => this.world.mend(a, b));
  }

  /** Brings a host down, and up again after a while. */
  down(host: TestHost, strike: () => void, meanMs = DOWN_MS): void {
    if (this.#down.has(host)) return;
    this.#down.set(host, Promise.resolve());
    strike();
    this.later(meanMs, () => this.#bringUp(host));
  }

  /** Ends a fault after about this time, or when the chaos is over, whichever comes first. */
  later(meanMs: number, undo: () => void): void {
    this.#plan(this.chance.exponential(meanMs), () => {
      if (!this.#isOver && !this.world.isStopped) undo();
    });
  }

  /** Mostly short, now and then longer than any lease. */
  long(): number {
    return Math.ceil(10 * 3_000 ** this.chance.number());
  }

  upTo(ms: number): number {
    return Math.ceil(this.chance.number() * ms);
  }

  /** The host may fail to join at once, and another fault may hit it meanwhile; the start is then retried. */
  #bringUp(host: TestHost): void {
    const started = this.world.restart(host).then(
      () => void this.#down.delete(host),
      () => this.later(1_000, () => this.#bringUp(host)),
    );
    this.#down.set(host, started);
  }
}
