// A process of the small world: it has its own clocks, sleeps without notice, and dies.
import { MARGIN_MS, type World } from "./world.ts";

export class Sleeper {
  readonly #world: World;
  /** Its clocks run at their own pace. */
  readonly pace: number;
  readonly #offset: number;
  #wallSet = 0;
  #life = 0;
  alive = false;
  #asleep: "for a moment" | "for long" | undefined;
  #backlog: (() => void)[] = [];
  /** Checked first whenever it is awake. */
  readonly #first: () => void;

  constructor(world: World, first: () => void) {
    this.#world = world;
    this.#first = first;
    this.pace = world.between(0.99, 1.01);
    this.#offset = world.between(0, 1e6);
  }

  get mono(): number {
    return this.#offset + this.#world.now * this.pace;
  }

  get wall(): number {
    return this.mono + this.#wallSet;
  }

  setWallClock(ms: number): void {
    this.#wallSet += ms;
  }

  /** Alive, and not asleep. */
  get acts(): boolean {
    return this.alive && this.#asleep === undefined;
  }

  /** It sleeps for longer than any margin. */
  get sleepsLong(): boolean {
    return this.#asleep === "for long";
  }

  start(): void {
    this.alive = true;
    this.#life++;
  }

  end(): void {
    this.alive = false;
    this.#asleep = undefined;
    this.#backlog = [];
  }

  /** Runs now, or when it is awake. */
  awake(act: () => void): void {
    if (this.#asleep !== undefined) {
      this.#backlog.push(act);
      return;
    }
    if (this.alive) this.#first();
    act();
  }

  sleep(ms: number): void {
    if (!this.acts) return;
    this.#asleep = ms > MARGIN_MS ? "for long" : "for a moment";
    const life = this.#life;
    this.#world.after(ms, () => {
      if (this.#life !== life || this.#asleep === undefined) return;
      this.#asleep = undefined;
      for (const act of this.#backlog.splice(0)) this.awake(act);
    });
  }

  /** As long as the process lives. */
  after(ms: number, act: () => void): void {
    const life = this.#life;
    this.#world.after(ms, () => {
      if (this.alive && this.#life === life) this.awake(act);
    });
  }

  every(ms: () => number, act: () => void): void {
    this.after(ms(), () => {
      act();
      this.every(ms, act);
    });
  }
}
