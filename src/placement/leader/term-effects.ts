// Performs the effects that the controllers of a term request: messages to hosts, writes of members, metrics
// and log events.
import type { Clock } from "../../ports/clock.ts";
import type { SchedulerMessage } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { Effect } from "../model/leader-effects.ts";
import { type Ring, Rings } from "../model/ring.ts";
import type { MemberWrites } from "./member-writes.ts";
import type { SchedulerInstruments } from "./metrics.ts";

export interface TermEffectsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly instruments: SchedulerInstruments;
  readonly memberWrites: MemberWrites;
  /** Streams by number. A stream that has ended gets nothing. */
  send(stream: number, message: SchedulerMessage): void;
  close(stream: number, error: { readonly code: string; readonly message: string }): void;
  /** The record of the host's types is durable. */
  saved(namespace: string, incarnation: string, types: readonly string[]): void;
  /** Number of sticky actors with an owner. */
  stickyActors(namespace: string, type: string): number;
}

/** Maximum number of rings kept for metrics and queries. */
const RINGS = 10_000;

export class TermEffects {
  readonly #replicationFactor: number;
  readonly #deps: TermEffectsDeps;
  readonly #rings = new Rings();
  readonly #ringOf = new Map<string, Ring>();

  constructor(replicationFactor: number, deps: TermEffectsDeps) {
    this.#replicationFactor = replicationFactor;
    this.#deps = deps;
  }

  perform(namespace: string, effect: Effect): void {
    const { clock, instruments, log, memberWrites } = this.#deps;
    switch (effect.kind) {
      case "send":
        if (effect.message.kind === "order") {
          const { operation, types, tables } = effect.message;
          for (const type of operation === "update" ? tables.map((table) => table.type) : types) {
            instruments.sent(namespace, type, operation, effect.streams.length);
          }
        }
        for (const number of effect.streams) this.#deps.send(number, effect.message);
        break;
      case "close":
        this.#deps.close(effect.stream, { code: effect.code, message: effect.why });
        break;
      case "save": {
        const { incarnation, address, machine, pid } = effect.host;
        const { types, isKnown } = effect;
        const member = { namespace, incarnation, address, machine, pid, types };
        memberWrites.write({ kind: "save", member, isKnown }, () => this.#deps.saved(namespace, incarnation, types));
        break;
      }
      case "drop":
        memberWrites.write({ kind: "drop", incarnation: effect.incarnation });
        break;
      case "began": {
        const { type, version, hosts } = effect.table;
        const before = clock.monotonic();
        this.#rebuild(
          namespace,
          type,
          hosts.map(({ address }) => address),
        );
        instruments.rebuilt(namespace, type, version.number, effect.reason, (clock.monotonic() - before) / 1_000);
        break;
      }
      case "sticky": {
        const { type, event, count } = effect;
        instruments.sticky(namespace, type, event, count);
        instruments.stickyActors(namespace, type, this.#deps.stickyActors(namespace, type));
        break;
      }
      case "settled":
        instruments.settled(namespace, effect.type, effect.tookMs / 1_000);
        break;
      case "host": {
        const { address, name } = effect.host;
        if (effect.event === "evicted") instruments.evicted(namespace);
        const level = effect.event === "evicted" || effect.event === "suspect" ? "warn" : "info";
        log[level](`host.${effect.event}`, { namespace, host: address, name, why: effect.why || undefined });
        break;
      }
    }
  }

  #rebuild(namespace: string, type: string, addresses: readonly string[]): void {
    const key = JSON.stringify([namespace, type]);
    const before = this.#ringOf.get(key);
    if (before === undefined && this.#ringOf.size >= RINGS) return;
    this.#ringOf.set(key, this.#rings.of(addresses, this.#replicationFactor, before));
  }
}
