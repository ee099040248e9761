// Checks that the answers about a ledger fit one order of events. The order is that of the store, where a
// ledger is a list that only grows until it is cleared; then its next generation begins. Runs once, after all
// calls have answers.
import { LimpetError } from "../../../src/kernel/errors.ts";
import type { ActorKey } from "../../../src/kernel/names.ts";
import type { Operation } from "../../observer.ts";
import type { PlannedCall } from "../../plan.ts";
import { isTickWord } from "../../reminding.ts";
import type { CheckerKind } from "../checker.ts";
import { Excuses } from "../excuses.ts";
import { isStateful, labelOf, nameOf, timesOf } from "../looks.ts";
import { Row } from "../state/stored-entries.ts";
import { mostRuns, operationOf } from "./tokens.ts";

/** One word in a ledger. */
interface Entry {
  readonly word: string;
  /** Counted over all generations: later is greater. */
  readonly position: number;
  readonly generation: number;
  /** Position within the generation, from 1. */
  readonly place: number;
}

/** Earliest and latest time at which an operation took effect, as far as callers know. */
interface Span {
  readonly what: string;
  readonly position: number;
  readonly beganAt: number;
  /** Infinite if the caller never got an acknowledgement. */
  readonly endedAt: number;
}

/** True for a call that appends its own word. */
const isAppend = ({ method }: PlannedCall): boolean => method === "append" || method === "remind";

const hasWorked = ({ outcome }: Operation): boolean => outcome !== undefined && "value" in outcome;

/** The caller got a definite failure. An error thrown by an actor discards its changes. */
function hasFailed({ outcome }: Operation): boolean {
  if (outcome === undefined || !("error" in outcome)) return false;
  return !(outcome.error instanceof LimpetError) || outcome.error.retry !== "unknown";
}

export const linearizable: CheckerKind = {
  name: "linearizable ledgers",
  rule: "every acknowledged entry is in its ledger once, in an order that fits the observations of callers; rejected entries are not",
  make(stage, report) {
    const rows = new Map<string, Row>();
    const keys = new Map<string, ActorKey>();
    const seen = new Set<string>();
    const excuses = new Excuses(stage, timesOf(stage.plan).leaseMs * 2);
    /**
     * Operations that began where both clocks had lost time: such a process cannot detect the end of its
     * lease. It answers from memory and commits nothing.
     */
    const unknowing = new Set<string>();
    return {
      slept: (process, ms) => excuses.slept(process, ms),
      gone: (host, process) => excuses.gone(host, process),
      stepped: () => excuses.stepped(),
      turnBegan({ op, life }) {
        if (excuses.isSlow(life.process)) unknowing.add(op);
      },
      taken(_process, { namespace, type, id }) {
        const key = { namespace, type, id };
        const name = nameOf(key);
        if (rows.has(name)) return;
        rows.set(name, new Row());
        keys.set(name, key);
      },
      committed(_process, { id, write }, key, outcome) {
        if (outcome !== "committed" || seen.has(id)) return;
        seen.add(id);
        rows.get(nameOf(key))?.write(write);
      },
      healed() {
        const operations = Map.groupBy(
          stage.operations.filter(({ call }) => isStateful(call.type) && !call.how.outside),
          ({ namespace, call }) => nameOf({ namespace, type: call.type, id: call.id }),
        );
        for (const [name, own] of operations) {
          if (rows.has(name)) continue;
          const acknowledged = own.find((operation) => isAppend(operation.call) && hasWorked(operation));
          if (acknowledged !== undefined) report(`${acknowledged.token} was acknowledged, and nothing was ever stored`);
        }
        for (const [name, row] of rows) {
          const own = (operations.get(name) ?? []).filter(({ token, call }) => {
            const isExcused = call.method === "read" && unknowing.has(token);
            if (isExcused) stage.excuse("linearizable ledgers");
            return !isExcused;
          });
          new Ledger(stage, keys.get(name)!, row.generations(), own, report).check();
        }
      },
    };
  },
};

class Ledger {
  readonly #stage: Parameters<CheckerKind["make"]>[0];
  readonly #key: ActorKey;
  readonly #generations: readonly (readonly string[])[];
  readonly #operations: readonly Operation[];
  readonly #report: (what: string) => void;
  readonly #entries: Entry[] = [];
  readonly #byWord = new Map<string, Entry[]>();
  /** First position of each generation. */
  readonly #begins: number[] = [];

  constructor(
    stage: Parameters<CheckerKind["make"]>[0],
    key: ActorKey,
    generations: readonly (readonly string[])[],
    operations: readonly Operation[],
    report: (what: string) => void,
  ) {
    this.#stage = stage;
    this.#key = key;
    this.#generations = generations;
    this.#operations = operations;
    this.#report = (what) => report(`${labelOf(key)}: ${what}`);
    let position = 0;
    for (const [generation, words] of generations.entries()) {
      this.#begins.push(position);
      for (const [i, word] of words.entries()) {
        const entry = { word, position: ++position, generation, place: i + 1 };
        this.#entries.push(entry);
        this.#byWord.set(word, [...(this.#byWord.get(word) ?? []), entry]);
      }
    }
  }

  check(): void {
    this.#checkWords();
    const spans = this.#entries.map((entry) => this.#spanOf(entry));
    for (const operation of this.#operations) {
      if (isAppend(operation.call)) this.#checkAppend(operation);
      else if (operation.call.method === "read" && hasWorked(operation)) {
        const span = this.#checkRead(operation);
        if (span !== undefined) spans.push(span);
      } else if (operation.call.method === "wipe" && hasWorked(operation)) this.#checkWipe(operation);
    }
    this.#checkOrder(spans);
  }

  #checkWords(): void {
    for (const [word, { length }] of this.#byWord) {
      const most = mostRuns(this.#stage, word, this.#key);
      if (length > most) this.#report(`${word} is there ${length} times, and was asked for ${most} times`);
    }
  }

  #checkAppend(operation: Operation): void {
    const { token, outcome } = operation;
    const entries = this.#byWord.get(token) ?? [];
    if (hasFailed(operation) && entries.length > 0) {
      this.#report(`${token} is there, and its caller got ${(outcome as { error: unknown }).error}`);
    }
    if (!hasWorked(operation)) return;
    const { value } = outcome as { value: unknown };
    if (entries.length === 0) this.#report(`${token} was acknowledged and is lost`);
    else if (entries[0]!.place !== value) {
      this.#report(`${token} got the answer that its place is ${value}, and it is ${entries[0]!.place}`);
    }
  }

  #spanOf({ word, position }: Entry): Span {
    const operation = operationOf(this.#stage, word);
    // A tick may take effect at any time after its reminder was set.
    if (isTickWord(word))
      return { what: word, position, beganAt: operation?.beganAt ?? 0, endedAt: Number.POSITIVE_INFINITY };
    const endedAt = operation !== undefined && hasWorked(operation) ? operation.endedAt! : Number.POSITIVE_INFINITY;
    return { what: word, position, beganAt: operation?.beganAt ?? 0, endedAt };
  }

  /** A read observes a prefix of one generation. Undefined: the generation cannot be determined. */
  #checkRead({ token, outcome, beganAt, endedAt }: Operation): Span | undefined {
    const words = (outcome as { value: readonly string[] }).value;
    // An empty list may be the prefix of any generation, and a word that is appended at least once may be in
    // several.
    const possible =
      words.length === 0
        ? [...this.#generations.keys()]
        : (this.#byWord.get(words[0]!) ?? []).map((entry) => entry.generation);
    const wrongIn = (generation: number): number =>
      words.findIndex((word, i) => word !== this.#generations[generation]![i]);
    const fitting = possible.filter((generation) => wrongIn(generation) < 0);
    if (fitting.length === 0 && words.length > 0) {
      const [first] = possible;
      if (first === undefined) this.#report(`${token} has read ${words[0]}, which was never stored`);
      else {
        const wrong = wrongIn(first);
        const stored = this.#generations[first]![wrong];
        this.#report(`${token} has read ${words[wrong]} at place ${wrong + 1}, where ${stored} is`);
      }
    }
    const [generation] = fitting;
    if (generation === undefined || fitting.length > 1) return undefined;
    // After the last observed word, before the next one.
    return { what: token, position: this.#begins[generation]! + words.length + 0.5, beganAt, endedAt: endedAt! };
  }

  #checkWipe({ token, beganAt, endedAt }: Operation): void {
    const before = this.#entries.filter((entry) => this.#spanOf(entry).endedAt < beganAt).at(-1);
    const after = this.#entries.find((entry) => this.#spanOf(entry).beganAt > endedAt!);
    if (before !== undefined && after !== undefined && before.generation >= after.generation) {
      this.#report(`${token} wiped ${before.word}, and it is there with ${after.word}`);
    }
  }

  /** An operation that ended before another one began has the earlier position. */
  #checkOrder(spans: Span[]): void {
    spans.sort((a, b) => b.position - a.position);
    /** Earliest end among operations with later positions, and among reads at the same position. */
    let behind: Span | undefined;
    let same: Span | undefined;
    for (const [i, span] of spans.entries()) {
      if (i > 0 && spans[i - 1]!.position > span.position) {
        behind = earlier(behind, same);
        same = undefined;
      }
      if (behind !== undefined && behind.endedAt < span.beganAt) {
        this.#report(`${behind.what} had ended before ${span.what} began, and stands behind it`);
        return;
      }
      same = earlier(same, span);
    }
  }
}

function earlier(a: Span | undefined, b: Span | undefined): Span | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.endedAt <= b.endedAt ? a : b;
}
