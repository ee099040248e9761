// The statement for a single task completion. It does the same as the batch statement (completions.ts)
// in half of the server's time, because it looks nothing up in arrays: the speed of a single run depends on
// its steps. The statement contains only the parts that the step needs: setting an expression up costs the
// server as much as evaluating it.

import type { TaskCompletion } from "../../../ports/store/workflows.ts";
import { IDLE, LEASED, READY } from "../../task-states.ts";
import type { Statement } from "../connection/connections.ts";
import { MILLIS } from "../reminders/tables.ts";
import { STATE_OF_KEY } from "./tables.ts";

/** The contents of a step; each combination has a statement of its own. */
export interface Form {
  readonly outcome: TaskCompletion["outcome"]["kind"];
  readonly hasBatch: boolean;
  /** The step took inbox messages. A close empties the inbox in any case. */
  readonly takes: boolean;
  readonly isSticky: boolean;
}

/** The parameters of the statement: type, and value from a step. */
const PARAMETERS = {
  ref: ["bigint", ({ ref }) => ref],
  token: ["text", ({ token }) => token],
  last: ["bigint", ({ last }) => last],
  reached: ["bigint", ({ last, batch }) => last + (batch?.count ?? 0)],
  bytes: ["bigint", ({ batch }) => Buffer.byteLength(batch!.data)],
  data: ["text", ({ batch }) => batch!.data],
  taken: ["bigint", ({ taken }) => taken],
  worker: ["text", ({ affinity }) => affinity!.worker],
  stickyMs: ["bigint", ({ affinity }) => affinity!.ms],
  leaseMs: ["bigint", ({ outcome }) => (outcome.kind === "keep" ? outcome.leaseMs : 0)],
  status: ["text", ({ outcome }) => (outcome.kind === "close" ? outcome.status : null)],
  result: ["text", ({ outcome }) => (outcome.kind === "close" ? outcome.result : null)],
} as const satisfies Record<string, readonly [type: string, of: (step: TaskCompletion) => unknown]>;

type Parameter = keyof typeof PARAMETERS;

const parametersOf = ({ outcome, hasBatch, takes, isSticky }: Form): Parameter[] => [
  ...(["ref", "token", "last"] as const),
  ...(hasBatch ? (["bytes", "data"] as const) : []),
  ...(hasBatch || outcome === "close" ? (["reached"] as const) : []),
  ...(takes ? (["taken"] as const) : []),
  ...(isSticky ? (["worker", "stickyMs"] as const) : []),
  ...(outcome === "keep" ? (["leaseMs"] as const) : []),
  ...(outcome === "close" ? (["status", "result"] as const) : []),
];

export interface CompleteOne {
  readonly statement: Statement;
  valuesOf(step: TaskCompletion): unknown[];
}

/** The result has this row if the step was applied, and no row otherwise. */
export type CompleteOneRow = [delivered: number, isWatched: boolean, notifiedIn: string | null];

export function completeOne(schema: string, form: Form): CompleteOne {
  const { outcome, hasBatch, takes, isSticky } = form;
  const parameters = parametersOf(form);
  const p = (name: Parameter): string => `$${parameters.indexOf(name) + 1}::${PARAMETERS[name][0]}`;
  const isMine = `t.ref = ${p("ref")} AND ${STATE_OF_KEY} = ${LEASED} AND t.last = ${p("last")} AND t.token = ${p("token")}`;
  const taken = takes ? `greatest(t.taken, ${p("taken")})` : "t.taken";
  const bytes = hasBatch ? `t.bytes + ${p("bytes")}` : "t.bytes";

  /** Changes of the task, computed from its row at the time of the write. */
  const changes = [
    ...(hasBatch ? [`last = ${p("reached")}`, `bytes = ${bytes}`] : []),
    ...(takes ? ["cleared = t.taken", `taken = ${taken}`] : []),
    ...(isSticky ? [`sticky = ${p("worker")}`, `sticky_until = ${MILLIS} + ${p("stickyMs")}`] : []),
    ...(isSticky ? [] : ["sticky = ''", "sticky_until = 0"]),
    ...(outcome === "keep"
      ? [`at = least(t.at, ${MILLIS} + ${p("leaseMs")})`, `leased_until = ${MILLIS} + ${p("leaseMs")}`]
      : [`at = ${MILLIS}`, "leased_until = 0", "attempt = 0", "problem = NULL"]),
    ...(outcome === "keep" ? [] : [`state = CASE WHEN t.arrived > ${taken} THEN ${READY} ELSE ${IDLE} END`]),
  ];
  const step = () => `done AS (
      UPDATE ${schema}.workflow_tasks t SET ${changes.join(", ")}
      WHERE ${isMine}
      RETURNING t.arrived, t.is_watched, ${
        outcome === "keep" ? "NULL::text" : `CASE WHEN t.state = ${READY} AND t.sticky = '' THEN t.namespace END`
      } AS notify_in${takes ? ", t.taken > t.cleared AS takes" : ""}
    )${
      takes
        ? `, received AS (
      DELETE FROM ${schema}.workflow_inbox b
      WHERE b.ref = (SELECT ${p("ref")} FROM done d WHERE d.takes) AND b.number <= ${p("taken")}
    )`
        : ""
    }`;
  const close = () => `done AS (
      DELETE FROM ${schema}.workflow_tasks t WHERE ${isMine}
      RETURNING ${bytes} AS bytes, t.arrived, t.is_watched, t.namespace,
                CASE WHEN t.is_watched THEN t.namespace END AS notify_in
    ), ended AS (
      INSERT INTO ${schema}.workflow_ends (ref, closed_at, events, bytes, is_watched, namespace, status, token, result)
      SELECT ${p("ref")}, ${MILLIS}, ${p("reached")}, d.bytes, d.is_watched, d.namespace, ${p("status")}, ${p("token")}, ${p("result")}
      FROM done d
    ), emptied AS (
      DELETE FROM ${schema}.workflow_inbox b
      WHERE b.ref = (SELECT ${p("ref")} FROM done d WHERE d.arrived > 0 AND ${p("status")} <> 'continued')
    )`;
  const paged = () => `, paged AS (
      INSERT INTO ${schema}.workflow_pages (ref, first, count, data)
      SELECT ${p("ref")}, ${p("last")} + 1, ${p("reached")} - ${p("last")}, ${p("data")} FROM done
    )`;
  const readers = parameters.map((name) => PARAMETERS[name][1] as (step: TaskCompletion) => unknown);
  return {
    statement: {
      name: `limpet_append_one_${outcome}${hasBatch ? "_page" : ""}${takes ? "_take" : ""}${isSticky ? "_sticky" : ""}`,
      text: `
    WITH ${outcome === "close" ? close() : step()}${hasBatch ? paged() : ""}
    SELECT d.arrived, d.is_watched, d.notify_in FROM done d`,
    },
    valuesOf: (step) => readers.map((read) => read(step)),
  };
}

/** The statements of steps, each built on first use. */
export class CompleteOneStatements {
  readonly #schema: string;
  readonly #made = { keep: [], rest: [], close: [] } as Readonly<Record<Form["outcome"], (CompleteOne | undefined)[]>>;

  constructor(schema: string) {
    this.#schema = schema;
  }

  for({ outcome: { kind: outcome }, batch, taken, affinity }: TaskCompletion): CompleteOne {
    const hasBatch = batch !== undefined;
    const takes = taken > 0 && outcome !== "close";
    const isSticky = affinity !== undefined && outcome !== "close";
    const place = (hasBatch ? 1 : 0) + (takes ? 2 : 0) + (isSticky ? 4 : 0);
    const made = this.#made[outcome][place] ?? completeOne(this.#schema, { outcome, hasBatch, takes, isSticky });
    this.#made[outcome][place] = made;
    return made;
  }
}
