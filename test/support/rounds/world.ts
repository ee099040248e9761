// The small world of src/placement/rounds.test.ts: time, chance, processes, and records. Everything follows
// from a seed.
import assert from "node:assert/strict";
import type { KnownMember } from "../../../src/placement/model/connection-controller.ts";
import type { Host } from "./host.ts";
import { Leader } from "./leader.ts";

export const LEASE_MS = 10_000;
/** A process that sleeps no longer than this has released everything before its lease ends for the leader. */
export const MARGIN_MS = 1_300;
export const TYPES = ["cart", "room", "user"];
export const IDS = Array.from({ length: 16 }, (_, i) => `id-${i}`);

/** Number of occurrences over all worlds: a situation that never occurs is not tested. */
export const seen = new Map<string, number>();
export const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);

export class World {
  now = 0;
  calm = false;
  term = 0;
  leader: Leader | undefined;
  readonly hosts: Host[] = [];
  /** Durable writes of leaders. */
  readonly members = new Map<string, KnownMember>();
  /** Probability that a leader dies during a round. */
  readonly deadlyRounds: number;
  readonly #trace: string[] = [];
  readonly #events: { readonly at: number; readonly act: () => void }[] = [];
  #random: number;

  constructor(seed: number) {
    this.#random = seed * 0x9e3779b9;
    this.deadlyRounds = this.chance() < 0.5 ? 0 : this.between(0, 0.5);
  }

  /** From 0 up to 1. */
  chance(): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let z = Math.imul(this.#random ^ (this.#random >>> 15), this.#random | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + this.chance() * (most - least);
  }

  oneOf<Thing>(things: readonly Thing[]): Thing {
    return things[Math.floor(this.chance() * things.length)]!;
  }

  some<Thing>(things: readonly Thing[]): Thing[] {
    return things.filter(() => this.chance() < 0.6);
  }

  delay(): number {
    return !this.calm && this.chance() < 0.03 ? this.between(0, 4_000) : this.between(1, 150);
  }

  at(at: number, act: () => void): void {
    let index = this.#events.length;
    while (index > 0 && this.#events[index - 1]!.at > at) index--;
    this.#events.splice(index, 0, { at, act });
  }

  after(ms: number, act: () => void): void {
    this.at(this.now + ms, act);
  }

  runUntil(end: number): void {
    for (let next = this.#events[0]; next !== undefined && next.at <= end; next = this.#events[0]) {
      this.#events.shift();
      this.now = next.at;
      next.act();
    }
    this.now = end;
  }

  elect(): void {
    this.leader = new Leader(this);
  }

  loseLeader(): void {
    if (this.leader === undefined || this.calm) return;
    this.leader.die();
    this.leader = undefined;
    this.after(this.chance() < 0.3 ? this.between(0, 3_000) : this.between(0, 200), () => this.elect());
  }

  record(who: string, what: string): void {
    this.#trace.push(`${(this.now / 1_000).toFixed(3)} ${who}: ${what}`);
  }

  fail(what: string): never {
    assert.fail(`${what}\n${this.#trace.slice(-60).join("\n")}`);
  }
}
