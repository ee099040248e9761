// The tables of shards: how many a type has, where each lives, and which of its actors are remembered.

/**
 * - `shard_homes` keeps the row of a shard that lost its home, without an incarnation. A shard that moves
 *   loses its home and gets another: two HOT updates, for which pages keep room, instead of rows that come
 *   and go in the index. One upsert writes every change. It meets the newest row also when its snapshot is
 *   older; a DELETE would miss a row written while it waited.
 * - `remembered_actors` is a set: it has only its key, so pages of it are read from the index alone.
 */
export const shardTables = (schema: string): string => `
    CREATE TABLE ${schema}.shard_rules (
      namespace text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      shards bigint NOT NULL,
      version text NOT NULL,
      PRIMARY KEY (namespace, type)
    );

    CREATE TABLE ${schema}.shard_homes (
      namespace text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      shard bigint NOT NULL,
      incarnation text COLLATE "C",
      PRIMARY KEY (namespace, type, shard)
    ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

    CREATE TABLE ${schema}.remembered_actors (
      namespace text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      shard bigint NOT NULL,
      id text COLLATE "C" NOT NULL,
      PRIMARY KEY (namespace, type, shard, id)
    ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
`;
