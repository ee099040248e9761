// The outcomes of all increments, and their comparison with the store. An increment is one operation: it is
// retried after a definite failure, and never after an unknown outcome.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { CallFailed, ProcessDied } from "./host-process.ts";
import type { TallyReport } from "./tally.ts";

/** Far more than an outage needs, with a pause after each. */
const MOST_TRIES = 50_000;

/** Makes increments. */
export interface TallyCaller {
  add(actor: string, operation: string, method: "add" | "addSlowly"): Promise<number>;
}

/** Reads the stored result. */
export interface TallyReader {
  report(actor: string): Promise<TallyReport>;
  version(actor: string): Promise<number | undefined>;
}

interface Account {
  /** Operation to the number in its answer: it was the n-th increment of its actor. */
  readonly acked: Map<string, number>;
  /** Operations with an unknown outcome. */
  readonly unknown: Set<string>;
}

export class Ledger {
  readonly #accounts = new Map<string, Account>();
  /** Number of each error. */
  readonly errors = new Map<string, number>();
  acked = 0;
  #operations = 0;

  get unknown(): number {
    return this.#accounts.values().reduce((sum, { unknown }) => sum + unknown.size, 0);
  }

  count(code: string): number {
    return this.errors.get(code) ?? 0;
  }

  #account(actor: string): Account {
    let account = this.#accounts.get(actor);
    if (account === undefined) {
      account = { acked: new Map(), unknown: new Set() };
      this.#accounts.set(actor, account);
    }
    return account;
  }

  /** One increment, until its outcome is known, or known to be unknown. */
  async add(host: TallyCaller, actor: string, method: "add" | "addSlowly" = "add"): Promise<"acked" | "unknown"> {
    const operation = `${++this.#operations}`;
    const account = this.#account(actor);
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const verdict = await this.#try(() => host.add(actor, operation, method), operation, account);
      if (verdict === "acked") return verdict;
      if (verdict === "unknown") {
        account.unknown.add(operation);
        return verdict;
      }
      if (verdict === "later") await pause(10);
    }
    assert.fail(`increment ${operation} of ${actor} did not get through: ${JSON.stringify([...this.errors])}`);
  }

  async #try(
    call: () => Promise<number>,
    operation: string,
    account: Account,
  ): Promise<"acked" | "now" | "later" | "unknown"> {
    try {
      account.acked.set(operation, await call());
      this.acked++;
      return "acked";
    } catch (error) {
      const code = error instanceof ProcessDied ? "DIED" : (error as CallFailed).code;
      this.errors.set(code, this.count(code) + 1);
      if (error instanceof ProcessDied) return "unknown";
      if (!(error instanceof CallFailed) || error.retry === "never" || error.retry === "elsewhere") throw error;
      return error.retry;
    }
  }

  /**
   * Every acknowledged increment is stored, at the position in its answer; every stored one was requested;
   * nothing is there twice; and each commit raised the version by one. `host` must not have had the actors in
   * memory before.
   */
  async audit(host: TallyReader): Promise<void> {
    await Promise.all(this.#accounts.entries().map(([actor, account]) => auditOne(host, actor, account)));
  }
}

async function auditOne(host: TallyReader, actor: string, { acked, unknown }: Account): Promise<void> {
  const { n, seen, again } = await host.report(actor);
  assert.deepEqual(again, [], `${actor}: applied twice`);
  assert.equal(seen.length, n, `${actor}: the count and the operations disagree`);
  assert.equal(await host.version(actor), n, `${actor}: a commit is one version`);
  const lost = [...acked].filter(([operation, number]) => seen[number - 1] !== operation);
  assert.deepEqual(lost, [], `${actor}: acknowledged, but not there`);
  const foreign = seen.filter((operation) => !acked.has(operation) && !unknown.has(operation));
  assert.deepEqual(foreign, [], `${actor}: applied, although the caller was told that nothing happened`);
}
