// Coverage: rare situations that a long run must reach at least once, because they put the rules to the test.
// A situation that is never reached shows that the faults or the calls are too tame.
// Two situations are left out, because a virtual world does not reach them. LINK_FULL needs thousands of
// calls at once. A host rejects a leader of an old term only if a leader of a later term welcomed it before.
// But a host gets the address of its leader from the store, where terms never decrease, and a leader whose
// lease has ended welcomes no host. It would take a response of the store that is late by two leaders.
import { LimpetError } from "../../src/kernel/errors.ts";
import type { RemoteCall } from "../../src/ports/links.ts";
import type { VirtualControlMessage } from "../../src/world/network/virtual-control.ts";
import type { Process } from "../../src/world/process.ts";
import { followsRing, nameOf } from "../checkers/looks.ts";
import type { Life, Observer, Operation, ReminderRun, Turn } from "../observer.ts";
import type { Stage } from "../stage.ts";
import { REMINDER_COVERAGE, ReminderCoverage } from "./reminder-coverage.ts";
import { SHARD_CODE_COVERAGE } from "./shard-code-coverage.ts";
import { SHARD_COVERAGE } from "./shard-coverage.ts";
import { STICKY_COVERAGE, StickyCoverage } from "./sticky-coverage.ts";
import { WORKFLOW_COVERAGE } from "./workflow-coverage.ts";

export const COVERAGE = {
  "start failed": "the start of a process failed after it had joined, and the process went on",
  "fenced commit": "a host tried to commit an actor that another one had taken",
  "commit confirmed by its id": "a commit was sent again, and had been applied the first time",
  "unknown commit that was applied": "a caller got COMMIT_UNKNOWN for a commit that was applied",
  "unknown commit that was not applied": "a caller got COMMIT_UNKNOWN for a commit that was not applied",
  "take lost to a faster host": "an actor was taken again before its first taker activated it",
  "state stored as changes": "a large state was committed as a change",
  "state cleared": "a state was removed, as a commit",
  "store away": "a call failed because the store did not answer",
  "hand-off during a turn": "an actor had to move while a turn of it ran, and the turn completed",
  "turn cut off by a move": "a turn that took too long was cut off because its actor had to move",
  "early release": "an actor became active on its new owner before its type was unlocked",
  "waited for a move": "a call waited while its actor moved, and then ran elsewhere",
  "rejected and routed again": "a host rejected a call because it is not the owner, and the call was routed again",
  "idle, then elsewhere": "an idle actor left memory, and its next activation was on another host",
  "evicted for memory": "an actor left memory for lack of capacity",
  "lease lost": "a host released all actors because its lease had ended",
  "lease kept after a sleep":
    "a host slept through its lease together with its leader, and no other scheduler led meanwhile",
  "turn cut off by a lease": "a caller got LEASE_LOST because the host of its turn had lost its lease",
  "slept through a lease": "a machine was suspended for longer than a lease",
  "woke up with an old table": "a process that had slept reported a table that was not the newest any more",
  "came back as a new incarnation": "a host that had lost everything came back as a new one",
  "lease waited for": "the actors of a silent host moved when its lease had ended",
  "failover with a missing host": "a new leader had to wait for the lease of a host that never reported to it",
  "end known, not waited for": "a host was removed at once because its process was known to have ended",
  "host evicted": "a round waited too long for one host, which was cut off",
  "address in use": "a host was refused because its address still belonged to its predecessor",
  "stepped down by its own clock": "a leader stepped down because it could not reach the store in time",
  "note of an old term refused": "a leader learned from a rejected write that another one leads",
  "dedicated took over": "a dedicated scheduler took over from an embedded one",
  "two namespaces move": "tables of two namespaces changed at the same time",
  "answer lost": "a connection broke between a call and its answer",
  "timed out while queued": "a call timed out before its turn began",
  "call cancelled": "a caller gave up",
  "cycle refused": "a chain of calls came back to an actor that waited for it",
  "stopping host refused": "a call failed because its own process was stopping",
  "mailbox full": "a call was refused because too many waited for its actor already",
  "host full": "a call was rejected because there was no capacity for its actor, and no other actor could leave",
  "no host for the type": "a call got the error that no host has its type",
  "not settled": "a call was rejected too often",
  "timed out without a host": "a call never found a host that could run it",
  "two activations, excused": "two activations of an actor were in memory at once, with a valid excuse",
  ...STICKY_COVERAGE,
  ...REMINDER_COVERAGE,
  ...WORKFLOW_COVERAGE,
  ...SHARD_COVERAGE,
  ...SHARD_CODE_COVERAGE,
} as const satisfies Record<string, string>;

export type Situation = keyof typeof COVERAGE;

const BY_CODE: { readonly [code: string]: Situation } = {
  STORE_UNAVAILABLE: "store away",
  LEASE_LOST: "turn cut off by a lease",
  ANSWER_LOST: "answer lost",
  CALL_CYCLE: "cycle refused",
  STOPPING: "stopping host refused",
  MAILBOX_FULL: "mailbox full",
  HOST_FULL: "host full",
  NO_HOST: "no host for the type",
  NOT_SETTLED: "not settled",
  NOT_READY: "timed out without a host",
};

const BY_REASON: { readonly [why: string]: Situation } = {
  "its process has ended": "end known, not waited for",
  "it came back as a new incarnation": "came back as a new incarnation",
  "its lease is over": "lease waited for",
  "it could not be kept up": "stepped down by its own clock",
  "another scheduler leads by now": "note of an old term refused",
};

/** Longer than any lease of a plan. */
const LONG_SLEEP_MS = 10_000;
const SHORTLY_MS = 1_000;

interface Round {
  readonly at: number;
  readonly number: number;
  readonly version: number;
  isUnlocked: boolean;
}

/** Records the situations that it observes. */
export class Coverage implements Observer {
  readonly #stage: Stage;
  readonly #sticky: StickyCoverage;
  readonly #reminders: ReminderCoverage;
  readonly #commits = new Set<string>();
  readonly #lastOp = new Map<string, string>();
  readonly #committedOps = new Set<string>();
  readonly #taken = new Map<string, Process>();
  readonly #lives = new Map<string, { readonly life: Life; endedAt: number | undefined; reason: string }>();
  readonly #rounds = new Map<string, Round>();
  readonly #begun = new Set<string>();
  readonly #askedAt = new Map<string, number>();
  readonly #slept = new Set<Process>();
  #leaderIsDedicated: boolean | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#sticky = new StickyCoverage(stage);
    this.#reminders = new ReminderCoverage(stage);
  }

  // ——— The store.

  taken(process: Process, request: Parameters<NonNullable<Observer["taken"]>>[1]): void {
    const name = nameOf(request);
    const before = this.#taken.get(name);
    if (before !== undefined && before !== process) this.#stage.reach("take lost to a faster host");
    this.#taken.set(name, process);
  }

  committed(...[process, { id, write }, key, outcome]: Parameters<NonNullable<Observer["committed"]>>): void {
    if (outcome === "fenced") {
      this.#stage.reach("fenced commit");
      return;
    }
    if (outcome === "void") return;
    if (this.#commits.has(id)) this.#stage.reach("commit confirmed by its id");
    this.#commits.add(id);
    if (write.kind === "change") this.#stage.reach("state stored as changes");
    if (write.kind === "clear") this.#stage.reach("state cleared");
    const op = this.#lastOp.get(`${process.number}/${nameOf(key)}`);
    if (op !== undefined) this.#committedOps.add(op);
  }

  campaigned(...[, { dedicated }, { leading }]: Parameters<NonNullable<Observer["campaigned"]>>): void {
    if (!leading) return;
    if (dedicated && this.#leaderIsDedicated === false) this.#stage.reach("dedicated took over");
    this.#leaderIsDedicated = dedicated;
  }

  // ——— Actors.

  activated(life: Life): void {
    this.#sticky.activated(life);
    const name = nameOf(life);
    this.#taken.delete(name);
    const before = this.#lives.get(name);
    this.#lives.set(name, { life, endedAt: undefined, reason: "" });
    if (this.#stage.excused.has("single runner")) this.#stage.reach("two activations, excused");
    if (before === undefined || before.life.process === life.process) return;
    if (before.reason === "idle") this.#stage.reach("idle, then elsewhere");
    const round = this.#rounds.get(`${life.namespace}/${life.type}`);
    if (round?.isUnlocked === false && before.reason === "moved") this.#stage.reach("early release");
  }

  deactivated(life: Life, reason: string): void {
    this.#sticky.deactivated(life, reason);
    if (reason === "memory") this.#stage.reach("evicted for memory");
    const known = this.#lives.get(nameOf(life));
    if (known?.life === life) this.#lives.set(nameOf(life), { life, endedAt: this.#stage.now, reason });
  }

  turnBegan(turn: Turn): void {
    this.#sticky.turnBegan(turn);
    const { life, op } = turn;
    this.#begun.add(op);
    const askedAt = this.#askedAt.get(op);
    const round = this.#rounds.get(`${life.namespace}/${life.type}`);
    if (askedAt === undefined || round === undefined) return;
    if (askedAt < round.at && life.bornAt > round.at && life.process.number !== this.#callerOf(op)) {
      this.#stage.reach("waited for a move");
    }
  }

  #callerOf(op: string): number | undefined {
    return this.#stage.operations.findLast(({ token }) => token === op)?.process.number;
  }

  turnEnded({ life, op, beganAt }: Turn): void {
    this.#lastOp.set(`${life.process.number}/${nameOf(life)}`, op);
    const round = this.#rounds.get(`${life.namespace}/${life.type}`);
    if (!followsRing(this.#stage.plan, life.type)) return;
    if (round === undefined || round.isUnlocked || round.at < beganAt || round.at === this.#stage.now) return;
    void life.process.app?.host.where(life.type, life.id).then(({ here }) => {
      if (!here) this.#stage.reach("hand-off during a turn");
    });
  }

  // ——— Callers.

  asked({ token }: Operation): void {
    this.#askedAt.set(token, this.#stage.now);
  }

  reminderBegan(run: ReminderRun): void {
    this.#reminders.reminderBegan(run);
  }

  answered(operation: Operation): void {
    this.#sticky.answered(operation);
    this.#reminders.answered(operation);
    const { token, outcome } = operation;
    if (outcome === undefined || !("error" in outcome) || !(outcome.error instanceof LimpetError)) return;
    const { code, message } = outcome.error;
    const mark = BY_CODE[code];
    if (mark !== undefined) this.#stage.reach(mark);
    if (code === "CALL_TIMEOUT" && !this.#begun.has(token)) this.#stage.reach("timed out while queued");
    if (code === "CALL_CANCELLED") {
      this.#stage.reach(message.includes("while its actor moved") ? "turn cut off by a move" : "call cancelled");
    }
    if (code === "COMMIT_UNKNOWN") {
      const isApplied = this.#committedOps.has(token);
      this.#stage.reach(isApplied ? "unknown commit that was applied" : "unknown commit that was not applied");
    }
  }

  // ——— The cluster.

  gone(host: unknown, process: Process): void {
    this.#sticky.gone(host, process);
    this.#reminders.gone(host, process);
  }

  faulted(fault: string): void {
    this.#sticky.faulted(fault);
  }

  slept(process: Process, ms: number, how: "pause" | "suspend"): void {
    this.#slept.add(process);
    if (how === "suspend" && ms > LONG_SLEEP_MS) this.#stage.reach("slept through a lease");
  }

  logged({ event, fields }: Parameters<NonNullable<Observer["logged"]>>[0]): void {
    if (event === "lease.lost") this.#stage.reach("lease lost");
    if (event === "lease.confirmed") this.#stage.reach("lease kept after a sleep");
    if (event === "host.evicted") this.#stage.reach("host evicted");
    if (fields === undefined) return;
    const mark = typeof fields.why === "string" ? BY_REASON[fields.why] : undefined;
    // A leader knows a host that never reported only from the store, without its name.
    if (mark === "lease waited for" && fields.name === "") this.#stage.reach("failover with a missing host");
    else if (mark !== undefined) this.#stage.reach(mark);
    if (!(fields.err instanceof LimpetError)) return;
    if (fields.err.code === "ADDRESS_IN_USE") this.#stage.reach("address in use");
  }

  sent(process: Process, to: number, message: unknown): void {
    this.#sticky.sent(process, to, message);
    const sent = message as VirtualControlMessage | { readonly kind: "call"; readonly call: RemoteCall };
    if ("kind" in sent) {
      if (sent.kind === "call" && sent.call.hops > 0) this.#stage.reach("rejected and routed again");
      return;
    }
    if (sent.about === "host" && sent.message.kind === "hello" && this.#slept.has(process)) {
      const { namespace, unlocked } = sent.message;
      for (const [type, { number }] of unlocked) {
        if (number < (this.#rounds.get(`${namespace}/${type}`)?.version ?? 0))
          this.#stage.reach("woke up with an old table");
      }
    }
    if (sent.about === "scheduler" && sent.message.kind === "order") this.#ordered(sent.message);
  }

  #ordered(order: Extract<Extract<VirtualControlMessage, { about: "scheduler" }>["message"], { kind: "order" }>): void {
    const { namespace, round: number, tables, types, operation } = order;
    if (number === 0) return;
    for (const { type, version } of tables) {
      const key = `${namespace}/${type}`;
      if (this.#rounds.get(key)?.number === number) continue;
      this.#rounds.set(key, { at: this.#stage.now, number, version: version.number, isUnlocked: false });
      for (const [other, { isUnlocked, at }] of this.#rounds) {
        const isElsewhere = !other.startsWith(`${namespace}/`);
        if (isElsewhere && !isUnlocked && this.#stage.now - at < SHORTLY_MS) this.#stage.reach("two namespaces move");
      }
    }
    if (operation !== "unlock") return;
    for (const type of types) {
      const round = this.#rounds.get(`${namespace}/${type}`);
      if (round?.number === number) round.isUnlocked = true;
    }
  }
}
