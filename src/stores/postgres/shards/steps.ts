// The statements of shards. All of them find their rows by primary keys.
import type { Statement } from "../connection/connections.ts";
import { briefly } from "../connection/while-held.ts";

export const readRuleStatement = (schema: string): Statement => ({
  name: "limpet_read_rule",
  text: `SELECT r.shards, r.version FROM ${schema}.shard_rules r WHERE r.namespace = $1 AND r.type = $2`,
});

/**
 * Returns the settled rule, also when another process settled it a moment ago: an update sees that row,
 * although the snapshot does not show it.
 */
export const settleRule = (schema: string): Statement => ({
  name: "limpet_settle_rule",
  text: `
    INSERT INTO ${schema}.shard_rules AS r (namespace, type, shards, version) VALUES ($1, $2, $3, $4)
    ON CONFLICT (namespace, type) DO UPDATE SET shards = r.shards
    RETURNING r.shards, r.version`,
});

/** One index, read in its order. */
export const readHomes = (schema: string): Statement => ({
  name: "limpet_read_homes",
  text: `
    SELECT h.namespace, h.type, h.shard, h.incarnation FROM ${schema}.shard_homes h
    WHERE h.incarnation IS NOT NULL ORDER BY h.namespace, h.type, h.shard`,
});

/**
 * The fence: the row of leadership is locked only if its term is still the writer's, and it is checked again
 * after a wait. No other term begins before this is committed. No two changes concern the same shard, so no
 * row is touched twice.
 */
export const noteHomes = (schema: string): Statement => ({
  name: "limpet_note_homes",
  text: `
    WITH led AS MATERIALIZED (
      SELECT one FROM ${schema}.leadership WHERE one AND term = $1 FOR UPDATE
    ), persisted AS (
      INSERT INTO ${schema}.shard_homes AS h (namespace, type, shard, incarnation)
      SELECT c.namespace, c.type, c.shard, c.incarnation
      FROM led, unnest($2::text[], $3::text[], $4::bigint[], $5::text[]) AS c (namespace, type, shard, incarnation)
      ON CONFLICT (namespace, type, shard) DO UPDATE SET incarnation = excluded.incarnation
      WHERE h.incarnation IS DISTINCT FROM excluded.incarnation
    )
    SELECT EXISTS (SELECT FROM led)`,
});

/**
 * The fence: the rows of homes are locked only if this host still owns them, and they are checked again after
 * a wait. No shard gets another home before this is committed. Returns the places, in the list, of the shards
 * that the host owns.
 *
 * No two changes concern the same actor. Two statements that remember and forget the same actors at once
 * could deadlock, because rows are locked in no fixed order; so they wait only briefly. Nearly always one
 * process alone changes a shard.
 *
 * Actors to forget are looked up one by one: with a join, the planner scans the whole table for each while
 * its statistics report an empty one. Rows are deleted by their place in the table; they never move, because
 * they are never updated.
 */
export const remember = (schema: string): Statement => ({
  name: "limpet_remember",
  text: `
    WITH shards AS MATERIALIZED (
      SELECT s.* FROM unnest($2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS s (namespace, type, shard, place)
      WHERE ${briefly}
    ), locked AS MATERIALIZED (
      SELECT s.place FROM shards s
      CROSS JOIN LATERAL (
        SELECT FROM ${schema}.shard_homes h
        WHERE h.namespace = s.namespace AND h.type = s.type AND h.shard = s.shard AND h.incarnation = $1
        LIMIT 1 FOR SHARE
      ) AS home
    ), ours AS MATERIALIZED (
      SELECT place FROM locked UNION ALL SELECT place FROM shards WHERE $1::text IS NULL
    ), kept AS (
      INSERT INTO ${schema}.remembered_actors (namespace, type, shard, id)
      SELECT k.namespace, k.type, k.shard, k.id
      FROM unnest($5::bigint[], $6::text[], $7::text[], $8::bigint[], $9::text[]) AS k (place, namespace, type, shard, id)
      WHERE k.place IN (SELECT place FROM ours)
      ON CONFLICT DO NOTHING
    ), forgotten AS (
      DELETE FROM ${schema}.remembered_actors a
      WHERE a.ctid = ANY (ARRAY(
        SELECT found.tid
        FROM unnest($10::bigint[], $11::text[], $12::text[], $13::bigint[], $14::text[]) AS f (place, namespace, type, shard, id)
        CROSS JOIN LATERAL (
          SELECT t.ctid AS tid FROM ${schema}.remembered_actors t
          WHERE t.namespace = f.namespace AND t.type = f.type AND t.shard = f.shard AND t.id = f.id LIMIT 1
        ) AS found
        WHERE f.place IN (SELECT place FROM ours)
      ))
    )
    SELECT place FROM ours`,
});

/**
 * A page is one range of the index, read in its order. No id is empty, so all ids are behind the empty text.
 */
export const readRemembered = (schema: string): Statement => ({
  name: "limpet_read_remembered",
  text: `
    SELECT a.id FROM ${schema}.remembered_actors a
    WHERE a.namespace = $1 AND a.type = $2 AND a.shard = $3 AND a.id > $4 ORDER BY a.id LIMIT $5`,
});

/** Skips from one shard to the next in the index, without reading the rows between. */
export const readRememberedShards = (schema: string): Statement => ({
  name: "limpet_read_remembered_shards",
  text: `
    WITH RECURSIVE found AS (
      (
        SELECT a.shard FROM ${schema}.remembered_actors a
        WHERE a.namespace = $1 AND a.type = $2 ORDER BY a.shard LIMIT 1
      )
      UNION ALL
      SELECT (
        SELECT a.shard FROM ${schema}.remembered_actors a
        WHERE a.namespace = $1 AND a.type = $2 AND a.shard > f.shard ORDER BY a.shard LIMIT 1
      ) FROM found f WHERE f.shard IS NOT NULL
    )
    SELECT f.shard FROM found f WHERE f.shard IS NOT NULL`,
});

/**
 * Deletes in portions: a type may have millions of rows, and no statement may take that long. Rows are
 * deleted by their place in the table, because the planner would otherwise scan the whole type for each row
 * of the portion.
 */
export const forgetSome = (schema: string): Statement => ({
  name: "limpet_forget_some",
  text: `
    WITH chosen AS MATERIALIZED (
      SELECT a.ctid AS place FROM ${schema}.remembered_actors a
      WHERE a.namespace = $1 AND a.type = $2 ORDER BY a.shard, a.id LIMIT $3
    ), forgotten AS (
      DELETE FROM ${schema}.remembered_actors a WHERE a.ctid = ANY (ARRAY(SELECT place FROM chosen))
    )
    SELECT count(*) FROM chosen`,
});

export const dropRule = (schema: string): Statement => ({
  name: "limpet_drop_rule",
  text: `
    WITH homes AS (
      DELETE FROM ${schema}.shard_homes h WHERE h.namespace = $1 AND h.type = $2
    )
    DELETE FROM ${schema}.shard_rules r WHERE r.namespace = $1 AND r.type = $2`,
});

export const lockLeadership = (schema: string): Statement => ({
  name: "limpet_lock_leadership",
  text: `SELECT one FROM ${schema}.leadership WHERE one FOR UPDATE`,
});

export const readHosting = (schema: string): Statement => ({
  name: "limpet_hosting",
  text: `SELECT incarnation, types FROM ${schema}.members WHERE namespace = $1`,
});
