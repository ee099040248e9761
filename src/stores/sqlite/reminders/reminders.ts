// The port of reminders on the event loop, and its verbs in the worker thread. Times are on the machine's
// clock, which all processes on the file share.
import type { ClaimRequest, ReminderKey, ReminderQuery, Reminders } from "../../../ports/store/reminders.ts";
import type { Packed } from "../thread/flat-arrays.ts";
import { type Call, read, write } from "../thread/verb.ts";
import {
  packRewritings,
  packSettlements,
  packWrites,
  unpackClaimed,
  unpackReminderOutcomes,
  unpackRewritings,
  unpackSettlements,
  unpackWrites,
} from "./messages.ts";

/**
 * A batch that must not be applied twice: a reminder that was set or settled would look like another's work.
 */
const UNSAFE_BATCH = { repeat: "unsafe", rows: (_: unknown, { count }: Packed) => count } as const;

export const REMINDER_VERBS = {
  write: write((on, batch: Packed) => on.reminders.write(unpackWrites(batch), Date.now()), UNSAFE_BATCH),
  settle: write((on, batch: Packed) => on.reminders.settle(unpackSettlements(batch), Date.now()), UNSAFE_BATCH),
  rewrite: write((on, batch: Packed) => on.reminders.rewrite(unpackRewritings(batch), Date.now()), UNSAFE_BATCH),
  claim: write((on, request: ClaimRequest) => on.reminderClaims.claim(request, Date.now()), {
    rows: ({ count }) => count,
  }),
  /** One token for each generation. */
  renew: write(
    (on, generations: readonly number[], tokens: readonly string[], leaseMs: number) =>
      on.reminders.renew(generations, tokens, Date.now() + leaseMs),
    { rows: (_, { length }) => length },
  ),
  revive: write((on, key: ReminderKey) => on.reminders.revive(key, Date.now()), { repeat: "unsafe" }),
  forget: write((on, key: ReminderKey) => on.reminders.forget(key), { repeat: "unsafe" }),
  get: read((on, key: ReminderKey) => on.reminderListing.get(key, Date.now())),
  list: read((on, query: ReminderQuery) => on.reminderListing.list(query, Date.now())),
  listDead: read((on, query: ReminderQuery) => on.reminderListing.listDead(query)),
  count: read((on, namespace: string, limit: number) => on.reminderListing.count(namespace, limit, Date.now())),
};

// Field by field: other properties of the caller's objects need not be cloneable.
export const sqliteReminders = (call: Call<typeof REMINDER_VERBS>): Reminders => ({
  write: async (batch) => unpackReminderOutcomes(await call("write", packWrites(batch)), batch),
  settle: (batch) => call("settle", packSettlements(batch)),
  rewrite: (batch) => call("rewrite", packRewritings(batch)),
  async claim({ namespace, types, limit, aheadMs, leaseMs, token }) {
    const request = { namespace, types: [...new Set(types)], limit, aheadMs, leaseMs, token };
    return unpackClaimed(await call("claim", request), request);
  },
  renew(claims, leaseMs) {
    const generations = claims.map(({ generation }) => generation);
    const tokens = claims.map(({ token }) => token);
    return call("renew", generations, tokens, leaseMs);
  },
  revive: (key) => call("revive", keyOf(key)),
  forget: (key) => call("forget", keyOf(key)),
  get: (key) => call("get", keyOf(key)),
  list: (query) => call("list", queryOf(query)),
  listDead: (query) => call("listDead", queryOf(query)),
  count: (namespace, limit) => call("count", namespace, limit),
  /** A SQLite file sends no notifications to other processes. */
  watch: () => undefined,
});

const keyOf = ({ namespace, type, id, name }: ReminderKey): ReminderKey => ({ namespace, type, id, name });

function queryOf({ namespace, type, id, after, limit, isBrief }: ReminderQuery): ReminderQuery {
  const behind = after && { type: after.type, id: after.id, name: after.name };
  return { namespace, type, id, after: behind, limit, isBrief };
}
