CREATE SCHEMA limpet;
CREATE TABLE limpet.migrations (number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE limpet.actors (
  ref bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  version bigint NOT NULL DEFAULT 0,
  commit_id text COLLATE "C",
  owner text NOT NULL,
  state text,
  base bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0,
  taken_at timestamptz NOT NULL,
  committed_at timestamptz,
  UNIQUE (namespace, type, id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

CREATE TABLE limpet.actor_parts (
  ref bigint NOT NULL,
  version bigint NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (ref, version)
) WITH (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);

ALTER TABLE limpet.actor_parts ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE limpet.leadership (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  term bigint NOT NULL,
  incarnation text COLLATE "C",
  address text NOT NULL,
  machine text NOT NULL,
  pid bigint NOT NULL,
  dedicated boolean NOT NULL,
  lease_ms double precision NOT NULL,
  until timestamptz NOT NULL,
  host_lease_ms double precision NOT NULL,
  former_host_lease_ms double precision NOT NULL
) WITH (fillfactor = 50);

INSERT INTO limpet.leadership VALUES (true, 0, NULL, '', '', 0, false, 0, '-infinity', 0, 0);

CREATE TABLE limpet.schedulers (
  incarnation text COLLATE "C" PRIMARY KEY,
  dedicated boolean NOT NULL,
  lease_ms double precision NOT NULL,
  until timestamptz NOT NULL,
  entry text NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE limpet.members (
  incarnation text COLLATE "C" PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  address text NOT NULL,
  machine text NOT NULL,
  pid bigint NOT NULL,
  types text NOT NULL,
  UNIQUE (namespace, incarnation)
);
CREATE FUNCTION limpet.campaign(
  me text, my_address text, my_machine text, my_pid bigint, am_dedicated boolean,
  my_lease_ms double precision, my_host_lease_ms double precision, dead text[], most bigint
) RETURNS TABLE (at_term bigint, leading_one json, listed text, longest_host_lease_ms double precision)
LANGUAGE plpgsql AS $$
DECLARE
  led limpet.leadership;
  before limpet.leadership;
  moment timestamptz;
  my_end timestamptz;
  others bigint;
  outranked boolean;
  some_gone boolean;
  some_beyond boolean;
BEGIN
  SELECT * INTO STRICT led FROM limpet.leadership FOR UPDATE;
  before := led;
  moment := clock_timestamp();
  my_end := moment + my_lease_ms * interval '1 millisecond';
  -- Who campaigns is alive, whatever it says of itself.
  dead := array_remove(dead, me);

  SELECT count(*) FILTER (WHERE s.there), coalesce(bool_or(s.there AND s.dedicated) AND NOT am_dedicated, false),
         coalesce(bool_or(NOT s.there), false), coalesce(bool_or(s.beyond), false)
  INTO others, outranked, some_gone, some_beyond
  FROM (SELECT s.dedicated, s.until > moment AND s.incarnation <> ALL (dead) AS there,
               s.until > moment + s.lease_ms * interval '1 millisecond' AS beyond
        FROM limpet.schedulers s WHERE s.incarnation <> me) s;
  IF others >= most THEN
    RETURN;
  END IF;
  IF some_gone THEN
    DELETE FROM limpet.schedulers s
    WHERE s.incarnation <> me AND (s.until <= moment OR s.incarnation = ANY (dead));
  END IF;
  IF some_beyond THEN
    UPDATE limpet.schedulers s SET until = moment + s.lease_ms * interval '1 millisecond'
    WHERE s.until > moment + s.lease_ms * interval '1 millisecond';
  END IF;
  INSERT INTO limpet.schedulers (incarnation, dedicated, lease_ms, until, entry)
  VALUES (me, am_dedicated, my_lease_ms, my_end,
          json_build_object('incarnation', me, 'address', my_address, 'machine', my_machine, 'pid', my_pid,
                            'dedicated', am_dedicated))
  ON CONFLICT (incarnation) DO UPDATE
  SET dedicated = excluded.dedicated, lease_ms = excluded.lease_ms, until = excluded.until, entry = excluded.entry;

  led.until := least(led.until, moment + led.lease_ms * interval '1 millisecond');
  IF led.until <= moment OR led.incarnation = ANY (dead) THEN
    led.incarnation := NULL;
  END IF;
  IF led.incarnation IS NULL AND NOT outranked THEN
    led.term := led.term + 1;
    led.incarnation := me;
    led.former_host_lease_ms := led.host_lease_ms;
    led.host_lease_ms := my_host_lease_ms;
  ELSIF led.incarnation = me AND outranked THEN
    led.incarnation := NULL;
  END IF;
  IF led.incarnation = me THEN
    led.address := my_address;
    led.machine := my_machine;
    led.pid := my_pid;
    led.dedicated := am_dedicated;
    led.lease_ms := my_lease_ms;
    led.until := my_end;
    led.host_lease_ms := greatest(led.host_lease_ms, my_host_lease_ms);
  END IF;

  IF led IS DISTINCT FROM before THEN
    UPDATE limpet.leadership
    SET term = led.term, incarnation = led.incarnation, address = led.address, machine = led.machine, pid = led.pid,
        dedicated = led.dedicated, lease_ms = led.lease_ms, until = led.until, host_lease_ms = led.host_lease_ms,
        former_host_lease_ms = led.former_host_lease_ms;
  ELSE
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;

  RETURN QUERY SELECT
    led.term,
    CASE WHEN led.incarnation IS NOT NULL THEN json_build_object(
      'incarnation', led.incarnation, 'address', led.address, 'machine', led.machine, 'pid', led.pid,
      'dedicated', led.dedicated) END,
    (SELECT string_agg(s.entry, ',') FROM limpet.schedulers s),
    greatest(led.host_lease_ms, led.former_host_lease_ms);
END $$;
CREATE FUNCTION limpet.resign(me text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM limpet.leadership FOR UPDATE;
  DELETE FROM limpet.schedulers s WHERE s.incarnation = me;
  UPDATE limpet.leadership l SET incarnation = NULL WHERE l.incarnation = me;
END $$;
CREATE SEQUENCE limpet.reminder_generations;
GRANT USAGE ON SEQUENCE limpet.reminder_generations TO PUBLIC;

CREATE TABLE limpet.reminders (
  generation bigint PRIMARY KEY,
  queue bigint NOT NULL,
  at bigint NOT NULL,
  due bigint NOT NULL,
  number bigint NOT NULL,
  attempt bigint NOT NULL,
  leased_until bigint NOT NULL,
  is_new boolean NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  schedule text NOT NULL,
  data text,
  token text COLLATE "C",
  UNIQUE (namespace, type, id, name)
) WITH (fillfactor = 45, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.01,
        autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
        toast.autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_vacuum_cost_delay = 0);

CREATE INDEX reminders_due ON limpet.reminders (queue, at);

CREATE TABLE limpet.dead_reminders (
  generation bigint NOT NULL,
  at bigint NOT NULL,
  due bigint NOT NULL,
  number bigint NOT NULL,
  attempt bigint NOT NULL,
  died_at bigint NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  schedule text NOT NULL,
  data text,
  error text NOT NULL,
  PRIMARY KEY (namespace, type, id, name)
);
CREATE SEQUENCE limpet.workflow_refs;
GRANT USAGE ON SEQUENCE limpet.workflow_refs TO PUBLIC;

CREATE TABLE limpet.workflow_runs (
  ref bigint PRIMARY KEY,
  number bigint NOT NULL,
  started_at bigint NOT NULL,
  first_count bigint NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  workflow_id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  build text COLLATE "C",
  attributes text NOT NULL,
  memo text NOT NULL,
  first_page text NOT NULL,
  tags text[],
  UNIQUE (namespace, workflow_id, number)
) WITH (fillfactor = 95, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

ALTER TABLE limpet.workflow_runs ALTER COLUMN first_page SET STORAGE EXTERNAL;
CREATE INDEX workflow_runs_run_id ON limpet.workflow_runs (run_id);
CREATE INDEX workflow_runs_in_order ON limpet.workflow_runs (namespace, (-ref));
CREATE INDEX workflow_runs_tags ON limpet.workflow_runs USING gin (tags) WHERE tags IS NOT NULL;

CREATE TABLE limpet.workflow_tasks (
  ref bigint PRIMARY KEY,
  pool bigint NOT NULL,
  at bigint NOT NULL,
  last bigint NOT NULL,
  bytes bigint NOT NULL,
  arrived bigint NOT NULL DEFAULT 0,
  taken bigint NOT NULL DEFAULT 0,
  cleared bigint NOT NULL DEFAULT 0,
  leased_until bigint NOT NULL,
  claimed_at bigint,
  sticky_until bigint NOT NULL DEFAULT 0,
  attempt integer NOT NULL,
  state smallint NOT NULL,
  mode smallint,
  is_watched boolean NOT NULL DEFAULT false,
  namespace text COLLATE "C" NOT NULL,
  sticky text COLLATE "C" NOT NULL DEFAULT '',
  worker text COLLATE "C",
  token text COLLATE "C",
  problem text
) WITH (fillfactor = 45, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.01,
        autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX workflow_tasks_due ON limpet.workflow_tasks (pool, sticky, at) WHERE state <> 0;

CREATE TABLE limpet.workflow_ends (
  ref bigint PRIMARY KEY,
  closed_at bigint NOT NULL,
  events bigint NOT NULL,
  bytes bigint NOT NULL,
  is_watched boolean NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  token text COLLATE "C",
  result text NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);

CREATE INDEX workflow_ends_in_order ON limpet.workflow_ends (namespace, closed_at);
CREATE INDEX workflow_ends_by_status ON limpet.workflow_ends (namespace, status, ref) WHERE status <> 'completed';

CREATE TABLE limpet.workflow_pages (
  ref bigint NOT NULL,
  first bigint NOT NULL,
  count bigint NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (ref, first)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
        toast.autovacuum_vacuum_scale_factor = 0.05);

ALTER TABLE limpet.workflow_pages ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE limpet.workflow_inbox (
  ref bigint NOT NULL,
  number bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (ref, number),
  UNIQUE (ref, key)
) WITH (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE limpet.workflow_workers (
  seen_at bigint NOT NULL,
  is_sticky boolean NOT NULL,
  is_draining boolean NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  build text COLLATE "C" NOT NULL,
  about text NOT NULL,
  PRIMARY KEY (namespace, worker)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE limpet.workflow_inbox ADD COLUMN goes_along boolean NOT NULL DEFAULT false;
DROP INDEX limpet.reminders_due;
CREATE INDEX reminders_due ON limpet.reminders (queue, at, (generation + 0));
CREATE TABLE limpet.shard_rules (
  namespace text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  shards bigint NOT NULL,
  version text NOT NULL,
  PRIMARY KEY (namespace, type)
);

CREATE TABLE limpet.shard_homes (
  namespace text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  shard bigint NOT NULL,
  incarnation text COLLATE "C",
  PRIMARY KEY (namespace, type, shard)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE limpet.remembered_actors (
  namespace text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  shard bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, type, shard, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
TRUNCATE limpet.actor_parts, limpet.actors, limpet.dead_reminders, limpet.leadership, limpet.members, limpet.migrations, limpet.remembered_actors, limpet.reminders, limpet.schedulers, limpet.shard_homes, limpet.shard_rules, limpet.workflow_ends, limpet.workflow_inbox, limpet.workflow_pages, limpet.workflow_runs, limpet.workflow_tasks, limpet.workflow_workers;
INSERT INTO limpet.actor_parts (ref, version, data) OVERRIDING SYSTEM VALUE VALUES ('3', '1', '{"lines":["line 0 of a diary that is long enough","line 1 of a diary that is long enough","line 2 of a diary that is long enough","line 3 of a diary that is long enough","line 4 of a diary that is long enough","line 5 of a diary that is long enough","line 6 of a diary that is long enough","line 7 of a diary that is long enough","line 8 of a diary that is long enough","line 9 of a diary that is long enough","line 10 of a diary that is long enough","line 11 of a diary that is long enough","line 12 of a diary that is long enough","line 13 of a diary that is long enough","line 14 of a diary that is long enough","line 15 of a diary that is long enough","line 16 of a diary that is long enough","line 17 of a diary that is long enough","line 18 of a diary that is long enough","line 19 of a diary that is long enough","line 20 of a diary that is long enough","line 21 of a diary that is long enough","line 22 of a diary that is long enough","line 23 of a diary that is long enough","line 24 of a diary that is long enough","line 25 of a diary that is long enough","line 26 of a diary that is long enough","line 27 of a diary that is long enough","line 28 of a diary that is long enough","line 29 of a diary that is long enough","line 30 of a diary that is long enough","line 31 of a diary that is long enough","line 32 of a diary that is long enough","line 33 of a diary that is long enough","line 34 of a diary that is long enough","line 35 of a diary that is long enough","line 36 of a diary that is long enough","line 37 of a diary that is long enough","line 38 of a diary that is long enough","line 39 of a diary that is long enough","line 40 of a diary that is long enough","line 41 of a diary that is long enough","line 42 of a diary that is long enough","line 43 of a diary that is long enough","line 44 of a diary that is long enough","line 45 of a diary that is long enough","line 46 of a diary that is long enough","line 47 of a diary that is long enough","line 48 of a diary that is long enough","line 49 of a diary that is long enough","line 50 of a diary that is long enough","line 51 of a diary that is long enough","line 52 of a diary that is long enough","line 53 of a diary that is long enough","line 54 of a diary that is long enough","line 55 of a diary that is long enough","line 56 of a diary that is long enough","line 57 of a diary that is long enough","line 58 of a diary that is long enough","line 59 of a diary that is long enough","line 60 of a diary that is long enough","line 61 of a diary that is long enough","line 62 of a diary that is long enough","line 63 of a diary that is long enough","line 64 of a diary that is long enough","line 65 of a diary that is long enough","line 66 of a diary that is long enough","line 67 of a diary that is long enough","line 68 of a diary that is long enough","line 69 of a diary that is long enough","line 70 of a diary that is long enough","line 71 of a diary that is long enough","line 72 of a diary that is long enough","line 73 of a diary that is long enough","line 74 of a diary that is long enough","line 75 of a diary that is long enough","line 76 of a diary that is long enough","line 77 of a diary that is long enough","line 78 of a diary that is long enough","line 79 of a diary that is long enough","line 80 of a diary that is long enough","line 81 of a diary that is long enough","line 82 of a diary that is long enough","line 83 of a diary that is long enough","line 84 of a diary that is long enough","line 85 of a diary that is long enough","line 86 of a diary that is long enough","line 87 of a diary that is long enough","line 88 of a diary that is long enough","line 89 of a diary that is long enough","line 90 of a diary that is long enough","line 91 of a diary that is long enough","line 92 of a diary that is long enough","line 93 of a diary that is long enough","line 94 of a diary that is long enough","line 95 of a diary that is long enough","line 96 of a diary that is long enough","line 97 of a diary that is long enough","line 98 of a diary that is long enough","line 99 of a diary that is long enough","line 100 of a diary that is long enough","line 101 of a diary that is long enough","line 102 of a diary that is long enough","line 103 of a diary that is long enough","line 104 of a diary that is long enough","line 105 of a diary that is long enough","line 106 of a diary that is long enough","line 107 of a diary that is long enough","line 108 of a diary that is long enough","line 109 of a diary that is long enough","line 110 of a diary that is long enough","line 111 of a diary that is long enough","line 112 of a diary that is long enough","line 113 of a diary that is long enough","line 114 of a diary that is long enough","line 115 of a diary that is long enough","line 116 of a diary that is long enough","line 117 of a diary that is long enough","line 118 of a diary that is long enough","line 119 of a diary that is long enough","line 120 of a diary that is long enough","line 121 of a diary that is long enough","line 122 of a diary that is long enough","line 123 of a diary that is long enough","line 124 of a diary that is long enough","line 125 of a diary that is long enough","line 126 of a diary that is long enough","line 127 of a diary that is long enough","line 128 of a diary that is long enough","line 129 of a diary that is long enough","line 130 of a diary that is long enough","line 131 of a diary that is long enough","line 132 of a diary that is long enough","line 133 of a diary that is long enough","line 134 of a diary that is long enough","line 135 of a diary that is long enough","line 136 of a diary that is long enough","line 137 of a diary that is long enough","line 138 of a diary that is long enough","line 139 of a diary that is long enough","line 140 of a diary that is long enough","line 141 of a diary that is long enough","line 142 of a diary that is long enough","line 143 of a diary that is long enough","line 144 of a diary that is long enough","line 145 of a diary that is long enough","line 146 of a diary that is long enough","line 147 of a diary that is long enough","line 148 of a diary that is long enough","line 149 of a diary that is long enough","line 150 of a diary that is long enough","line 151 of a diary that is long enough","line 152 of a diary that is long enough","line 153 of a diary that is long enough","line 154 of a diary that is long enough","line 155 of a diary that is long enough","line 156 of a diary that is long enough","line 157 of a diary that is long enough","line 158 of a diary that is long enough","line 159 of a diary that is long enough","line 160 of a diary that is long enough","line 161 of a diary that is long enough","line 162 of a diary that is long enough","line 163 of a diary that is long enough","line 164 of a diary that is long enough","line 165 of a diary that is long enough","line 166 of a diary that is long enough","line 167 of a diary that is long enough","line 168 of a diary that is long enough","line 169 of a diary that is long enough","line 170 of a diary that is long enough","line 171 of a diary that is long enough","line 172 of a diary that is long enough","line 173 of a diary that is long enough","line 174 of a diary that is long enough","line 175 of a diary that is long enough","line 176 of a diary that is long enough","line 177 of a diary that is long enough","line 178 of a diary that is long enough","line 179 of a diary that is long enough","line 180 of a diary that is long enough","line 181 of a diary that is long enough","line 182 of a diary that is long enough","line 183 of a diary that is long enough","line 184 of a diary that is long enough","line 185 of a diary that is long enough","line 186 of a diary that is long enough","line 187 of a diary that is long enough","line 188 of a diary that is long enough","line 189 of a diary that is long enough","line 190 of a diary that is long enough","line 191 of a diary that is long enough","line 192 of a diary that is long enough","line 193 of a diary that is long enough","line 194 of a diary that is long enough","line 195 of a diary that is long enough","line 196 of a diary that is long enough","line 197 of a diary that is long enough","line 198 of a diary that is long enough","line 199 of a diary that is long enough","line 200 of a diary that is long enough","line 201 of a diary that is long enough","line 202 of a diary that is long enough","line 203 of a diary that is long enough","line 204 of a diary that is long enough","line 205 of a diary that is long enough","line 206 of a diary that is long enough","line 207 of a diary that is long enough","line 208 of a diary that is long enough","line 209 of a diary that is long enough","line 210 of a diary that is long enough","line 211 of a diary that is long enough","line 212 of a diary that is long enough","line 213 of a diary that is long enough","line 214 of a diary that is long enough","line 215 of a diary that is long enough","line 216 of a diary that is long enough","line 217 of a diary that is long enough","line 218 of a diary that is long enough","line 219 of a diary that is long enough","line 220 of a diary that is long enough","line 221 of a diary that is long enough","line 222 of a diary that is long enough","line 223 of a diary that is long enough","line 224 of a diary that is long enough","line 225 of a diary that is long enough","line 226 of a diary that is long enough","line 227 of a diary that is long enough","line 228 of a diary that is long enough","line 229 of a diary that is long enough","line 230 of a diary that is long enough","line 231 of a diary that is long enough","line 232 of a diary that is long enough","line 233 of a diary that is long enough","line 234 of a diary that is long enough","line 235 of a diary that is long enough","line 236 of a diary that is long enough","line 237 of a diary that is long enough","line 238 of a diary that is long enough","line 239 of a diary that is long enough","line 240 of a diary that is long enough","line 241 of a diary that is long enough","line 242 of a diary that is long enough","line 243 of a diary that is long enough","line 244 of a diary that is long enough","line 245 of a diary that is long enough","line 246 of a diary that is long enough","line 247 of a diary that is long enough","line 248 of a diary that is long enough","line 249 of a diary that is long enough","line 250 of a diary that is long enough","line 251 of a diary that is long enough","line 252 of a diary that is long enough","line 253 of a diary that is long enough","line 254 of a diary that is long enough","line 255 of a diary that is long enough","line 256 of a diary that is long enough","line 257 of a diary that is long enough","line 258 of a diary that is long enough","line 259 of a diary that is long enough","line 260 of a diary that is long enough","line 261 of a diary that is long enough","line 262 of a diary that is long enough","line 263 of a diary that is long enough","line 264 of a diary that is long enough","line 265 of a diary that is long enough","line 266 of a diary that is long enough","line 267 of a diary that is long enough","line 268 of a diary that is long enough","line 269 of a diary that is long enough","line 270 of a diary that is long enough","line 271 of a diary that is long enough","line 272 of a diary that is long enough","line 273 of a diary that is long enough","line 274 of a diary that is long enough","line 275 of a diary that is long enough","line 276 of a diary that is long enough","line 277 of a diary that is long enough","line 278 of a diary that is long enough","line 279 of a diary that is long enough","line 280 of a diary that is long enough","line 281 of a diary that is long enough","line 282 of a diary that is long enough","line 283 of a diary that is long enough","line 284 of a diary that is long enough","line 285 of a diary that is long enough","line 286 of a diary that is long enough","line 287 of a diary that is long enough","line 288 of a diary that is long enough","line 289 of a diary that is long enough","line 290 of a diary that is long enough","line 291 of a diary that is long enough","line 292 of a diary that is long enough","line 293 of a diary that is long enough","line 294 of a diary that is long enough","line 295 of a diary that is long enough","line 296 of a diary that is long enough","line 297 of a diary that is long enough","line 298 of a diary that is long enough","line 299 of a diary that is long enough","line 300 of a diary that is long enough","line 301 of a diary that is long enough","line 302 of a diary that is long enough","line 303 of a diary that is long enough","line 304 of a diary that is long enough","line 305 of a diary that is long enough","line 306 of a diary that is long enough","line 307 of a diary that is long enough","line 308 of a diary that is long enough","line 309 of a diary that is long enough","line 310 of a diary that is long enough","line 311 of a diary that is long enough","line 312 of a diary that is long enough","line 313 of a diary that is long enough","line 314 of a diary that is long enough","line 315 of a diary that is long enough","line 316 of a diary that is long enough","line 317 of a diary that is long enough","line 318 of a diary that is long enough","line 319 of a diary that is long enough","line 320 of a diary that is long enough","line 321 of a diary that is long enough","line 322 of a diary that is long enough","line 323 of a diary that is long enough","line 324 of a diary that is long enough","line 325 of a diary that is long enough","line 326 of a diary that is long enough","line 327 of a diary that is long enough","line 328 of a diary that is long enough","line 329 of a diary that is long enough","line 330 of a diary that is long enough","line 331 of a diary that is long enough","line 332 of a diary that is long enough","line 333 of a diary that is long enough","line 334 of a diary that is long enough","line 335 of a diary that is long enough","line 336 of a diary that is long enough","line 337 of a diary that is long enough","line 338 of a diary that is long enough","line 339 of a diary that is long enough","line 340 of a diary that is long enough","line 341 of a diary that is long enough","line 342 of a diary that is long enough","line 343 of a diary that is long enough","line 344 of a diary that is long enough","line 345 of a diary that is long enough","line 346 of a diary that is long enough","line 347 of a diary that is long enough","line 348 of a diary that is long enough","line 349 of a diary that is long enough","line 350 of a diary that is long enough","line 351 of a diary that is long enough","line 352 of a diary that is long enough","line 353 of a diary that is long enough","line 354 of a diary that is long enough","line 355 of a diary that is long enough","line 356 of a diary that is long enough","line 357 of a diary that is long enough","line 358 of a diary that is long enough","line 359 of a diary that is long enough","line 360 of a diary that is long enough","line 361 of a diary that is long enough","line 362 of a diary that is long enough","line 363 of a diary that is long enough","line 364 of a diary that is long enough","line 365 of a diary that is long enough","line 366 of a diary that is long enough","line 367 of a diary that is long enough","line 368 of a diary that is long enough","line 369 of a diary that is long enough","line 370 of a diary that is long enough","line 371 of a diary that is long enough","line 372 of a diary that is long enough","line 373 of a diary that is long enough","line 374 of a diary that is long enough","line 375 of a diary that is long enough","line 376 of a diary that is long enough","line 377 of a diary that is long enough","line 378 of a diary that is long enough","line 379 of a diary that is long enough","line 380 of a diary that is long enough","line 381 of a diary that is long enough","line 382 of a diary that is long enough","line 383 of a diary that is long enough","line 384 of a diary that is long enough","line 385 of a diary that is long enough","line 386 of a diary that is long enough","line 387 of a diary that is long enough","line 388 of a diary that is long enough","line 389 of a diary that is long enough","line 390 of a diary that is long enough","line 391 of a diary that is long enough","line 392 of a diary that is long enough","line 393 of a diary that is long enough","line 394 of a diary that is long enough","line 395 of a diary that is long enough","line 396 of a diary that is long enough","line 397 of a diary that is long enough","line 398 of a diary that is long enough","line 399 of a diary that is long enough"],"kept":{"$":"map","v":[["since",{"$":"date","v":0}]]}}');
INSERT INTO limpet.actor_parts (ref, version, data) OVERRIDING SYSTEM VALUE VALUES ('3', '2', '[["~",["lines"],400,0,["a change after the whole"]]]');
INSERT INTO limpet.actors (ref, namespace, type, id, epoch, version, commit_id, owner, state, base, bytes, taken_at, committed_at) OVERRIDING SYSTEM VALUE VALUES ('1', 'default', 'Purse', 'alice', '1', '3', 'AN3QyA8SCODCX8jFF-B4jA.b', 'AN3QyA8SCODCX8jFF-B4jA', '{"coins":7,"reminded":[]}', '0', '25', '2026-11-18 05:36:49.038043+00', '2026-11-18 05:36:49.093136+00');
INSERT INTO limpet.actors (ref, namespace, type, id, epoch, version, commit_id, owner, state, base, bytes, taken_at, committed_at) OVERRIDING SYSTEM VALUE VALUES ('2', 'default', 'Purse', 'bob', '1', '1', 'AN3QyA8SCODCX8jFF-B4jA.3', 'AN3QyA8SCODCX8jFF-B4jA', '{"coins":1,"reminded":[]}', '0', '25', '2026-11-18 05:36:49.044845+00', '2026-11-18 05:36:49.046208+00');
INSERT INTO limpet.actors (ref, namespace, type, id, epoch, version, commit_id, owner, state, base, bytes, taken_at, committed_at) OVERRIDING SYSTEM VALUE VALUES ('3', 'default', 'Diary', 'long', '1', '2', 'AN3QyA8SCODCX8jFF-B4jA.5', 'AN3QyA8SCODCX8jFF-B4jA', NULL, '1', '16807', '2026-11-18 05:36:49.047434+00', '2026-11-18 05:36:49.054113+00');
INSERT INTO limpet.actors (ref, namespace, type, id, epoch, version, commit_id, owner, state, base, bytes, taken_at, committed_at) OVERRIDING SYSTEM VALUE VALUES ('4', 'default', 'Lamp', 'a', '1', '1', 'AN3QyA8SCODCX8jFF-B4jA.6', 'AN3QyA8SCODCX8jFF-B4jA', '{"lit":1}', '0', '9', '2026-11-18 05:36:49.061888+00', '2026-11-18 05:36:49.063265+00');
INSERT INTO limpet.actors (ref, namespace, type, id, epoch, version, commit_id, owner, state, base, bytes, taken_at, committed_at) OVERRIDING SYSTEM VALUE VALUES ('5', 'default', 'Lamp', 'b', '1', '1', 'AN3QyA8SCODCX8jFF-B4jA.7', 'AN3QyA8SCODCX8jFF-B4jA', '{"lit":1}', '0', '9', '2026-11-18 05:36:49.068833+00', '2026-11-18 05:36:49.069887+00');
INSERT INTO limpet.actors (ref, namespace, type, id, epoch, version, commit_id, owner, state, base, bytes, taken_at, committed_at) OVERRIDING SYSTEM VALUE VALUES ('6', 'default', 'Lamp', 'c', '1', '1', 'AN3QyA8SCODCX8jFF-B4jA.8', 'AN3QyA8SCODCX8jFF-B4jA', '{"lit":1}', '0', '9', '2026-11-18 05:36:49.07473+00', '2026-11-18 05:36:49.077903+00');
INSERT INTO limpet.actors (ref, namespace, type, id, epoch, version, commit_id, owner, state, base, bytes, taken_at, committed_at) OVERRIDING SYSTEM VALUE VALUES ('7', 'default', 'Beacon', 'north', '1', '1', 'AN3QyA8SCODCX8jFF-B4jA.9', 'AN3QyA8SCODCX8jFF-B4jA', '{"seen":1}', '0', '10', '2026-11-18 05:36:49.081989+00', '2026-11-18 05:36:49.083348+00');
INSERT INTO limpet.actors (ref, namespace, type, id, epoch, version, commit_id, owner, state, base, bytes, taken_at, committed_at) OVERRIDING SYSTEM VALUE VALUES ('8', 'default', 'Beacon', 'south', '1', '1', 'AN3QyA8SCODCX8jFF-B4jA.a', 'AN3QyA8SCODCX8jFF-B4jA', '{"seen":1}', '0', '10', '2026-11-18 05:36:49.086155+00', '2026-11-18 05:36:49.08791+00');
INSERT INTO limpet.dead_reminders (generation, at, due, number, attempt, died_at, namespace, type, id, name, schedule, data, error) OVERRIDING SYSTEM VALUE VALUES ('4', '1794980209107', '1794980209107', '1', '1', '1794980209112', 'default', 'Purse', 'bob', 'always-fails', '{"schedule":{"first":1794980209107,"missed":"once"},"policy":{"attempts":1,"pauseMs":1000,"longestPauseMs":600000,"giveUp":"keep"}}', NULL, 'TypeError: this reminder always fails');
INSERT INTO limpet.leadership (one, term, incarnation, address, machine, pid, dedicated, lease_ms, until, host_lease_ms, former_host_lease_ms) OVERRIDING SYSTEM VALUE VALUES ('t', '1', '2b1IUFTUMlIJpg9iduPXZg', '', 'linux:f5464144-4224-4734-93b0-21e29cc419d1:pid:[4026531836]', '9657', 'f', '3000', '2026-11-18 05:36:51.98979+00', '10000', '0');
INSERT INTO limpet.members (incarnation, namespace, address, machine, pid, types) OVERRIDING SYSTEM VALUE VALUES ('aZclVvEixGNDnUoOQMo1MQ', 'default', '127.0.0.1:44501', 'linux:f5464144-4224-4734-93b0-21e29cc419d1:pid:[4026531836]', '9657', '["Beacon","Diary","Lamp","Purse"]');
INSERT INTO limpet.migrations (number, name, applied_at) OVERRIDING SYSTEM VALUE VALUES ('1', 'actors', '2026-11-18 05:36:48.855548+00');
INSERT INTO limpet.migrations (number, name, applied_at) OVERRIDING SYSTEM VALUE VALUES ('2', 'coordination', '2026-11-18 05:36:48.855548+00');
INSERT INTO limpet.migrations (number, name, applied_at) OVERRIDING SYSTEM VALUE VALUES ('3', 'reminders', '2026-11-18 05:36:48.855548+00');
INSERT INTO limpet.migrations (number, name, applied_at) OVERRIDING SYSTEM VALUE VALUES ('4', 'workflows', '2026-11-18 05:36:48.855548+00');
INSERT INTO limpet.migrations (number, name, applied_at) OVERRIDING SYSTEM VALUE VALUES ('5', 'going along', '2026-11-18 05:36:48.855548+00');
INSERT INTO limpet.migrations (number, name, applied_at) OVERRIDING SYSTEM VALUE VALUES ('6', 'order of reminders', '2026-11-18 05:36:48.855548+00');
INSERT INTO limpet.migrations (number, name, applied_at) OVERRIDING SYSTEM VALUE VALUES ('7', 'shards', '2026-11-18 05:36:48.855548+00');
INSERT INTO limpet.remembered_actors (namespace, type, shard, id) OVERRIDING SYSTEM VALUE VALUES ('default', 'Lamp', '5', 'a');
INSERT INTO limpet.remembered_actors (namespace, type, shard, id) OVERRIDING SYSTEM VALUE VALUES ('default', 'Lamp', '4', 'b');
INSERT INTO limpet.remembered_actors (namespace, type, shard, id) OVERRIDING SYSTEM VALUE VALUES ('default', 'Lamp', '3', 'c');
INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id, name, schedule, data, token) OVERRIDING SYSTEM VALUE VALUES ('1', '17038906236875', '1794980269090', '1794980269090', '1', '0', '0', 'f', 'default', 'Purse', 'alice', 'soon', '{"schedule":{"first":1794980269090,"missed":"once"}}', '{"name":"soon"}', NULL);
INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id, name, schedule, data, token) OVERRIDING SYSTEM VALUE VALUES ('2', '17038906236875', '3522980209101', '3522980209101', '1', '0', '0', 'f', 'default', 'Purse', 'alice', 'far', '{"schedule":{"first":3522980209101,"every":{"months":0,"days":0,"ms":604800000},"missed":"once"}}', '["kept"]', NULL);
INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id, name, schedule, data, token) OVERRIDING SYSTEM VALUE VALUES ('3', '17038906236875', '1798790400000', '1798790400000', '1', '0', '0', 'f', 'default', 'Purse', 'bob', 'cron', '{"schedule":{"first":1798790400000,"cron":"0 9 1 1 *","timezone":"Europe/Paris","missed":"once"}}', NULL, NULL);
INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id, name, schedule, data, token) OVERRIDING SYSTEM VALUE VALUES ('5', '52375217607670', '1798761600000', '1798761600000', '1', '0', '0', 't', 'default', '$yearly', 'job', 'run', '{"schedule":{"first":1798761600000,"cron":"@yearly","timezone":"UTC","missed":"once"}}', NULL, NULL);
INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id, name, schedule, data, token) OVERRIDING SYSTEM VALUE VALUES ('6', '85363385386547', '4386980209118', '4386980209118', '1', '0', '0', 'f', 'default', '$$timer', '2D3qqNuYWbKqrG3aUbSaDA', '2', '{"schedule":{"first":4386980209118,"missed":"once"},"policy":{"attempts":9007199254740991,"pauseMs":1000,"longestPauseMs":60000,"giveUp":"keep"}}', '{"workflowId":"waits-for-signal","runId":"2D3qqNuYWbKqrG3aUbSaDA","n":2}', NULL);
INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id, name, schedule, data, token) OVERRIDING SYSTEM VALUE VALUES ('7', '85363385386547', '1794980269118', '1794980269118', '1', '0', '0', 'f', 'default', '$$timer', 'u3LU8Fsi0hIfSWQZ5QUxwg', '1', '{"schedule":{"first":1794980269118,"missed":"once"},"policy":{"attempts":9007199254740991,"pauseMs":1000,"longestPauseMs":60000,"giveUp":"keep"}}', '{"workflowId":"sleeps-briefly","runId":"u3LU8Fsi0hIfSWQZ5QUxwg","n":1}', NULL);
INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id, name, schedule, data, token) OVERRIDING SYSTEM VALUE VALUES ('8', '85363385386547', '3522980209131', '3522980209131', '1', '0', '0', 'f', 'default', '$$timer', 'VYRPXU1FQICEWr5AvOVhuw', '1', '{"schedule":{"first":3522980209131,"missed":"once"},"policy":{"attempts":9007199254740991,"pauseMs":1000,"longestPauseMs":60000,"giveUp":"keep"}}', '{"workflowId":"sleeps-long","runId":"VYRPXU1FQICEWr5AvOVhuw","n":1}', NULL);
INSERT INTO limpet.schedulers (incarnation, dedicated, lease_ms, until, entry) OVERRIDING SYSTEM VALUE VALUES ('2b1IUFTUMlIJpg9iduPXZg', 'f', '3000', '2026-11-18 05:36:51.98979+00', '{"incarnation" : "2b1IUFTUMlIJpg9iduPXZg", "address" : "", "machine" : "linux:f5464144-4224-4734-93b0-21e29cc419d1:pid:[4026531836]", "pid" : 9657, "dedicated" : false}');
INSERT INTO limpet.shard_homes (namespace, type, shard, incarnation) OVERRIDING SYSTEM VALUE VALUES ('default', 'Lamp', '5', 'aZclVvEixGNDnUoOQMo1MQ');
INSERT INTO limpet.shard_homes (namespace, type, shard, incarnation) OVERRIDING SYSTEM VALUE VALUES ('default', 'Lamp', '4', 'aZclVvEixGNDnUoOQMo1MQ');
INSERT INTO limpet.shard_homes (namespace, type, shard, incarnation) OVERRIDING SYSTEM VALUE VALUES ('default', 'Lamp', '3', 'aZclVvEixGNDnUoOQMo1MQ');
INSERT INTO limpet.shard_homes (namespace, type, shard, incarnation) OVERRIDING SYSTEM VALUE VALUES ('default', 'Beacon', '2', 'aZclVvEixGNDnUoOQMo1MQ');
INSERT INTO limpet.shard_homes (namespace, type, shard, incarnation) OVERRIDING SYSTEM VALUE VALUES ('default', 'Beacon', '1', 'aZclVvEixGNDnUoOQMo1MQ');
INSERT INTO limpet.shard_homes (namespace, type, shard, incarnation) OVERRIDING SYSTEM VALUE VALUES ('default', 'Beacon/told', '0', 'saver');
INSERT INTO limpet.shard_homes (namespace, type, shard, incarnation) OVERRIDING SYSTEM VALUE VALUES ('default', 'Beacon/told', '1', 'a-host-that-is-gone');
INSERT INTO limpet.shard_homes (namespace, type, shard, incarnation) OVERRIDING SYSTEM VALUE VALUES ('default', 'Lamp/paused', '0', 'paused');
INSERT INTO limpet.shard_rules (namespace, type, shards, version) OVERRIDING SYSTEM VALUE VALUES ('default', 'Lamp', '10', 'hash');
INSERT INTO limpet.shard_rules (namespace, type, shards, version) OVERRIDING SYSTEM VALUE VALUES ('default', 'Beacon', '4', 'hash');
INSERT INTO limpet.workflow_ends (ref, closed_at, events, bytes, is_watched, namespace, status, token, result) OVERRIDING SYSTEM VALUE VALUES ('5', '1794980209155', '4', '349', 'f', 'default', 'completed', 'n8G0zl9hRQkI5YJ_VIji1w', '{"result":8}');
INSERT INTO limpet.workflow_ends (ref, closed_at, events, bytes, is_watched, namespace, status, token, result) OVERRIDING SYSTEM VALUE VALUES ('6', '1794980209166', '2', '350', 'f', 'default', 'failed', '0Fxtlr_ONxX6RbYr46V5WQ', '{"error":{"errorCode":"ACTOR_FAILED","message":"this workflow always fails","retry":"never","error":{"name":"TypeError"}}}');
INSERT INTO limpet.workflow_inbox (ref, number, key, data, goes_along) OVERRIDING SYSTEM VALUE VALUES ('4', '1', 'signal OAyptz-FS7ORSgMBHaeATw', '{"message":{"kind":"SignalReceived","id":"OAyptz-FS7ORSgMBHaeATw","name":"approved","input":"early"}}', 't');
INSERT INTO limpet.workflow_pages (ref, first, count, data) OVERRIDING SYSTEM VALUE VALUES ('1', '3', '2', '{"at":1794980209118,"events":[{"kind":"ActivityCompleted","of":1,"result":42},{"kind":"TimerScheduled","at":4386980209118,"n":2}]}');
INSERT INTO limpet.workflow_pages (ref, first, count, data) OVERRIDING SYSTEM VALUE VALUES ('5', '3', '2', '{"at":1794980209153,"events":[{"kind":"ActivityCompleted","of":1,"result":8},{"kind":"WorkflowCompleted","result":8,"n":2}]}');
INSERT INTO limpet.workflow_pages (ref, first, count, data) OVERRIDING SYSTEM VALUE VALUES ('6', '2', '1', '{"at":1794980209164,"events":[{"kind":"WorkflowFailed","error":{"errorCode":"ACTOR_FAILED","message":"this workflow always fails","retry":"never","error":{"name":"TypeError"}},"n":1}]}');
INSERT INTO limpet.workflow_runs (ref, number, started_at, first_count, namespace, workflow_id, run_id, type, queue, build, attributes, memo, first_page, tags) OVERRIDING SYSTEM VALUE VALUES ('1', '1', '1794980209117', '2', 'default', 'waits-for-signal', '2D3qqNuYWbKqrG3aUbSaDA', 'approval', 'default', NULL, '{"region":"eu"}', '{"note":"kept"}', '{"at":1794980209113,"events":[{"kind":"WorkflowStarted","flags":1,"type":"approval","workflowId":"waits-for-signal","runId":"2D3qqNuYWbKqrG3aUbSaDA","input":21,"memo":{"note":"kept"},"attributes":{"region":"eu"}},{"kind":"ActivityScheduled","name":"double","input":21,"n":1,"eager":true}]}', '{"6:region\"eu\""}');
INSERT INTO limpet.workflow_runs (ref, number, started_at, first_count, namespace, workflow_id, run_id, type, queue, build, attributes, memo, first_page, tags) OVERRIDING SYSTEM VALUE VALUES ('2', '1', '1794980209127', '2', 'default', 'sleeps-briefly', 'u3LU8Fsi0hIfSWQZ5QUxwg', 'nap', 'default', NULL, '{}', '{}', '{"at":1794980209118,"events":[{"kind":"WorkflowStarted","flags":1,"type":"nap","workflowId":"sleeps-briefly","runId":"u3LU8Fsi0hIfSWQZ5QUxwg","input":1},{"kind":"TimerScheduled","at":1794980269118,"n":1}]}', NULL);
INSERT INTO limpet.workflow_runs (ref, number, started_at, first_count, namespace, workflow_id, run_id, type, queue, build, attributes, memo, first_page, tags) OVERRIDING SYSTEM VALUE VALUES ('3', '1', '1794980209136', '2', 'default', 'sleeps-long', 'VYRPXU1FQICEWr5AvOVhuw', 'nap', 'default', NULL, '{}', '{}', '{"at":1794980209131,"events":[{"kind":"WorkflowStarted","flags":1,"type":"nap","workflowId":"sleeps-long","runId":"VYRPXU1FQICEWr5AvOVhuw","input":28800000},{"kind":"TimerScheduled","at":3522980209131,"n":1}]}', NULL);
INSERT INTO limpet.workflow_runs (ref, number, started_at, first_count, namespace, workflow_id, run_id, type, queue, build, attributes, memo, first_page, tags) OVERRIDING SYSTEM VALUE VALUES ('4', '1', '1794980209141', '1', 'default', 'waits-for-worker', 'ESE1Tm5c-IkdmJIhq7V2XQ', 'unknown-type', 'default', NULL, '{}', '{}', '{"at":1794980209138,"events":[{"kind":"WorkflowStarted","flags":1,"type":"unknown-type","workflowId":"waits-for-worker","runId":"ESE1Tm5c-IkdmJIhq7V2XQ","input":null}]}', NULL);
INSERT INTO limpet.workflow_runs (ref, number, started_at, first_count, namespace, workflow_id, run_id, type, queue, build, attributes, memo, first_page, tags) OVERRIDING SYSTEM VALUE VALUES ('5', '1', '1794980209153', '2', 'default', 'completed', 'M56EVAaAcLbHlvrJ-JZqNA', 'quick', 'default', NULL, '{}', '{}', '{"at":1794980209149,"events":[{"kind":"WorkflowStarted","flags":1,"type":"quick","workflowId":"completed","runId":"M56EVAaAcLbHlvrJ-JZqNA","input":4},{"kind":"ActivityScheduled","name":"double","input":4,"n":1,"eager":true}]}', NULL);
INSERT INTO limpet.workflow_runs (ref, number, started_at, first_count, namespace, workflow_id, run_id, type, queue, build, attributes, memo, first_page, tags) OVERRIDING SYSTEM VALUE VALUES ('6', '1', '1794980209158', '1', 'default', 'failed', 'jj55ChfBoP9079Fp-HiNNw', 'failing', 'default', NULL, '{}', '{}', '{"at":1794980209155,"events":[{"kind":"WorkflowStarted","flags":1,"type":"failing","workflowId":"failed","runId":"jj55ChfBoP9079Fp-HiNNw","input":{"$":"undefined"}}]}', NULL);
INSERT INTO limpet.workflow_tasks (ref, pool, at, last, bytes, arrived, taken, cleared, leased_until, claimed_at, sticky_until, attempt, state, mode, is_watched, namespace, sticky, worker, token, problem) OVERRIDING SYSTEM VALUE VALUES ('1', '198834324303954', '1794980209125', '4', '419', '0', '0', '0', '0', '1794980209118', '1794980509125', '0', '0', '1', 'f', 'default', '5HX_yte5g4C3Y4ksXZtcHw', '5HX_yte5g4C3Y4ksXZtcHw', 'ufHGVQTL0_JcUMLRFECnUg', NULL);
INSERT INTO limpet.workflow_tasks (ref, pool, at, last, bytes, arrived, taken, cleared, leased_until, claimed_at, sticky_until, attempt, state, mode, is_watched, namespace, sticky, worker, token, problem) OVERRIDING SYSTEM VALUE VALUES ('2', '133973668943248', '1794980209133', '2', '205', '0', '0', '0', '0', '1794980209127', '1794980509133', '0', '0', '1', 'f', 'default', '5HX_yte5g4C3Y4ksXZtcHw', '5HX_yte5g4C3Y4ksXZtcHw', 'zMck-WPN1aazTajF2Rs59g', NULL);
INSERT INTO limpet.workflow_tasks (ref, pool, at, last, bytes, arrived, taken, cleared, leased_until, claimed_at, sticky_until, attempt, state, mode, is_watched, namespace, sticky, worker, token, problem) OVERRIDING SYSTEM VALUE VALUES ('3', '133973668943248', '1794980209140', '2', '209', '0', '0', '0', '0', '1794980209136', '1794980509140', '0', '0', '1', 'f', 'default', '5HX_yte5g4C3Y4ksXZtcHw', '5HX_yte5g4C3Y4ksXZtcHw', '7wcGsHSA5MqiLdT9EDKjbg', NULL);
INSERT INTO limpet.workflow_tasks (ref, pool, at, last, bytes, arrived, taken, cleared, leased_until, claimed_at, sticky_until, attempt, state, mode, is_watched, namespace, sticky, worker, token, problem) OVERRIDING SYSTEM VALUE VALUES ('4', '4949177854269', '1794980209141', '1', '168', '1', '0', '0', '0', NULL, '0', '0', '1', NULL, 'f', 'default', '', NULL, NULL, NULL);
INSERT INTO limpet.workflow_workers (seen_at, is_sticky, is_draining, namespace, worker, queue, build, about) OVERRIDING SYSTEM VALUE VALUES ('1794980209019', 't', 'f', 'default', '5HX_yte5g4C3Y4ksXZtcHw', 'default', '', '{"runtime":"typescript","types":["approval","nap","quick","failing"],"compatible":[],"fingerprints":{"approval":"74333a2f040e2986c7d45e5a890e3dda","nap":"c5613006d058a670d9dead39dfd06791","quick":"f1ab86b7d83a8c0fa99f0823690422a1","failing":"8e85e69df80358542ba5d306fbab9d57"},"capacity":10000,"size":0,"bytes":0,"hits":0,"misses":0,"forced":0,"evictions":0,"working":0,"minute":{}}');
SELECT setval('limpet.actors_ref_seq', 8);
SELECT setval('limpet.reminder_generations', 8);
SELECT setval('limpet.workflow_refs', 6);
