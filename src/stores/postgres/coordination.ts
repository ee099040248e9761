// What schedulers agree on, in PostgreSQL, on the clock of the database and nobody else's.
//
// Steps on the leadership have a connection of their own, with short waits: however busy the store is, a leader can keep
// its leadership, and learns within a second or two that it cannot. Members are written and read like everything else, one
// write after the other, so that they take no more than one connection and a later write is never overtaken.
import { invariant } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { Candidate, Coordination, Member, SchedulerEntry, Standing } from "../../ports/coordination.ts";
import { inOrder, tooMany } from "../leadership.ts";
import { texts } from "./arrays.ts";
import type { Connections, Row, Statement } from "./connections.ts";

type Scheduler = Omit<SchedulerEntry, "leader">;

/** What a campaign answers with; the schedulers are JSON with commas between, in any order. */
type StandingRow = [term: number, leader: Scheduler | null, schedulers: string, hostLeaseMs: number];
type MemberRow = [string, string, string, string, number, string];

const campaign = (schema: string): Statement => ({
  name: "limpet_campaign",
  text: `SELECT at_term, leading_one, listed, longest_host_lease_ms FROM ${schema}.campaign($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
});

const resign = (schema: string): Statement => ({ name: "limpet_resign", text: `SELECT ${schema}.resign($1)` });

/** One index, read in its order. */
export const readMembers = (schema: string): Statement => ({
  name: "limpet_members",
  text: `SELECT namespace, incarnation, address, machine, pid, types FROM ${schema}.members
         ORDER BY namespace, incarnation`,
});

/**
 * The fence: the row of leadership is locked only if its term is still ours, which is looked at again after a wait, and no
 * other term begins before this is committed. Counting reads an index, once for each host that starts.
 */
export const saveMember = (schema: string): Statement => ({
  name: "limpet_save_member",
  text: `
    WITH led AS MATERIALIZED (
      SELECT one FROM ${schema}.leadership WHERE one AND term = $1 FOR UPDATE
    ), room AS MATERIALIZED (
      SELECT EXISTS (SELECT FROM ${schema}.members WHERE incarnation = $3)
          OR (SELECT count(*) FROM ${schema}.members) < $8 AS found
    ), saved AS (
      INSERT INTO ${schema}.members (namespace, incarnation, address, machine, pid, types)
      SELECT $2, $3, $4, $5, $6, $7 FROM led, room WHERE room.found
      ON CONFLICT (incarnation) DO UPDATE
      SET namespace = excluded.namespace, address = excluded.address, machine = excluded.machine, pid = excluded.pid,
          types = excluded.types
    )
    SELECT EXISTS (SELECT FROM led), found FROM room`,
});

/** The same fence, for one that is there already: a row that was deleted while this waited stays away. */
export const changeMember = (schema: string): Statement => ({
  name: "limpet_change_member",
  text: `
    WITH led AS MATERIALIZED (
      SELECT one FROM ${schema}.leadership WHERE one AND term = $1 FOR UPDATE
    ), changed AS (
      UPDATE ${schema}.members SET namespace = $2, address = $4, machine = $5, pid = $6, types = $7
      FROM led WHERE incarnation = $3
    )
    SELECT EXISTS (SELECT FROM led)`,
});

/** The same fence. Rows are found by their key. */
export const dropMembers = (schema: string): Statement => ({
  name: "limpet_drop_members",
  text: `
    WITH led AS MATERIALIZED (
      SELECT one FROM ${schema}.leadership WHERE one AND term = $1 FOR UPDATE
    ), dropped AS (
      DELETE FROM ${schema}.members m USING led, unnest($2::text[]) AS i (incarnation)
      WHERE m.incarnation = i.incarnation
    )
    SELECT EXISTS (SELECT FROM led)`,
});

/** No fence: nobody else can say this of a host, and it is true whoever leads. */
export const leaveMembers = (schema: string): Statement => ({
  name: "limpet_leave",
  text: `DELETE FROM ${schema}.members m USING unnest($1::text[]) AS i (incarnation) WHERE m.incarnation = i.incarnation`,
});

export class PostgresCoordination implements Coordination {
  readonly #leadership: Connections;
  readonly #connections: Connections;
  readonly #statements;
  /** Settles when the member write before it has. */
  #written: Promise<unknown> = Promise.resolve();

  /** `leadership` is for nothing else; `connections` are those of the store. */
  constructor(leadership: Connections, connections: Connections, schema: string) {
    this.#leadership = leadership;
    this.#connections = connections;
    this.#statements = {
      campaign: campaign(schema),
      resign: resign(schema),
      readMembers: readMembers(schema),
      saveMember: saveMember(schema),
      changeMember: changeMember(schema),
      dropMembers: dropMembers(schema),
      leave: leaveMembers(schema),
    };
  }

  async campaign(candidate: Candidate, dead: readonly string[] = []): Promise<Standing> {
    const { incarnation, address, machine, pid, dedicated, leaseMs, hostLeaseMs } = candidate;
    const values = [
      incarnation,
      address,
      machine,
      pid,
      dedicated,
      leaseMs,
      hostLeaseMs,
      texts(dead),
      LIMITS.schedulers,
    ];
    const [row] = await this.#lead(this.#statements.campaign, values);
    if (row === undefined) throw tooMany("schedulers");
    return standingOf(row as unknown as StandingRow, incarnation);
  }

  async resign(incarnation: string): Promise<void> {
    await this.#lead(this.#statements.resign, [incarnation]);
  }

  async members(): Promise<Member[]> {
    const rows = await this.#connections.during(() =>
      this.#connections.run(this.#statements.readMembers, [], "harmless"),
    );
    return (rows as MemberRow[]).map(([namespace, incarnation, address, machine, pid, types]) => {
      return { namespace, incarnation, address, machine, pid, types: JSON.parse(types) as string[] };
    });
  }

  async saveMember(term: number, member: Member, isKnown = false): Promise<boolean> {
    const { namespace, incarnation, address, machine, pid, types } = member;
    const values = [term, namespace, incarnation, address, machine, pid, JSON.stringify(types)];
    if (isKnown) {
      const [isCurrent] = await this.#write(this.#statements.changeMember, values);
      return isCurrent as boolean;
    }
    const [isCurrent, foundRoom] = await this.#write(this.#statements.saveMember, [...values, LIMITS.members]);
    if (isCurrent && !foundRoom) throw tooMany("members");
    return isCurrent as boolean;
  }

  async dropMembers(term: number, incarnations: readonly string[]): Promise<boolean> {
    const [isCurrent] = await this.#write(this.#statements.dropMembers, [term, texts(incarnations)]);
    return isCurrent as boolean;
  }

  async leave(incarnations: readonly string[]): Promise<void> {
    const { leave } = this.#statements;
    await this.#connections.during(() => this.#connections.run(leave, [texts(incarnations)], "harmless"));
  }

  #lead(statement: Statement, values: unknown[]): Promise<Row[]> {
    return this.#leadership.during(() => this.#leadership.run(statement, values, "harmless"));
  }

  #write(statement: Statement, values: unknown[]): Promise<Row> {
    return this.#connections.during(() => {
      const run = async () => only(await this.#connections.run(statement, values, "harmless"));
      const written = this.#written.then(run, run);
      this.#written = written;
      return written;
    });
  }
}

function standingOf([term, leader, listed, hostLeaseMs]: StandingRow, incarnation: string): Standing {
  const schedulers = JSON.parse(`[${listed}]`) as Scheduler[];
  return {
    term,
    leading: leader?.incarnation === incarnation,
    schedulers: inOrder(schedulers.map((one) => ({ ...one, leader: one.incarnation === leader?.incarnation }))),
    hostLeaseMs,
    leader: leader === null ? undefined : { ...leader, leader: true },
  };
}

function only(rows: readonly Row[]): Row {
  const [row] = rows;
  invariant(row !== undefined, "a step of coordination answers with one row");
  return row;
}
