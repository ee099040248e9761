// The tables and functions of coordination among schedulers. Every step that changes or relies on the
// leadership first locks its one row and then reads everything else. So all steps run one after the other and
// cannot deadlock.
//
// The steps on the leadership are functions, because each statement in a function sees the data committed
// before that very statement began. A single statement sees other tables as they were when it started to wait
// for the lock: it would miss a dedicated scheduler that registered meanwhile. A transaction over several
// round trips would block all schedulers behind a process that stopped in the middle of it.

/**
 * `leadership` has one row for ever, because its term must never go back. The leadership is free if the row
 * has no incarnation; the other columns then still describe the last leader.
 *
 * `entry` is the scheduler as other processes see it: a JSON object, built once when the row is written. Each
 * campaign reads all entries under the lock, and concatenating texts takes a fraction of the time of building
 * them.
 *
 * `types` is a JSON array, as text, so that it holds every valid name.
 */
const tables = (schema: string) => `
    CREATE TABLE ${schema}.leadership (
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

    INSERT INTO ${schema}.leadership VALUES (true, 0, NULL, '', '', 0, false, 0, '-infinity', 0, 0);

    CREATE TABLE ${schema}.schedulers (
      incarnation text COLLATE "C" PRIMARY KEY,
      dedicated boolean NOT NULL,
      lease_ms double precision NOT NULL,
      until timestamptz NOT NULL,
      entry text NOT NULL
    ) WITH (fillfactor = 50);

    CREATE TABLE ${schema}.members (
      incarnation text COLLATE "C" PRIMARY KEY,
      namespace text COLLATE "C" NOT NULL,
      address text NOT NULL,
      machine text NOT NULL,
      pid bigint NOT NULL,
      types text NOT NULL,
      UNIQUE (namespace, incarnation)
    );`;

/** Computes the number of a new term; the only difference between the first function and its successor. */
interface TermRule {
  readonly parameters: string;
  readonly nextTerm: string;
}

const BY_ONE: TermRule = { parameters: "", nextTerm: "led.term + 1" };

/** Terms grow also when the database is restored from a backup; see `begun` in stores/leadership.ts. */
const BY_CLOCK: TermRule = {
  parameters: ", seen_term bigint DEFAULT 0",
  nextTerm: "greatest(led.term + 1, seen_term + 1, floor(extract(epoch FROM moment))::bigint - 1767225600)",
};

/**
 * Returns the columns of an ElectionResult, or no row when `most` other schedulers are listed already. The
 * rows of schedulers are few and all of them are needed, so the function reads them whole, in any order. No
 * deadline lies further ahead than its lease from now. Otherwise a clock that was set back, or a promoted
 * replica with a slower clock, would leave the leadership with a process that ended long ago.
 *
 * A step that leaves the leadership unchanged need not wait for the disk, and all but one of the schedulers
 * make only such steps. After a crash the list may miss a scheduler, which registers again within moments.
 * These steps therefore hold the lock only briefly.
 */
const campaign = (schema: string, { parameters, nextTerm }: TermRule) => `
    CREATE FUNCTION ${schema}.campaign(
      me text, my_address text, my_machine text, my_pid bigint, am_dedicated boolean,
      my_lease_ms double precision, my_host_lease_ms double precision, dead text[], most bigint${parameters}
    ) RETURNS TABLE (at_term bigint, leading_one json, listed text, longest_host_lease_ms double precision)
    LANGUAGE plpgsql AS $$
    DECLARE
      led ${schema}.leadership;
      before ${schema}.leadership;
      moment timestamptz;
      my_end timestamptz;
      others bigint;
      outranked boolean;
      some_gone boolean;
      some_beyond boolean;
    BEGIN
      SELECT * INTO STRICT led FROM ${schema}.leadership FOR UPDATE;
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
            FROM ${schema}.schedulers s WHERE s.incarnation <> me) s;
      IF others >= most THEN
        RETURN;
      END IF;
      IF some_gone THEN
        DELETE FROM ${schema}.schedulers s
        WHERE s.incarnation <> me AND (s.until <= moment OR s.incarnation = ANY (dead));
      END IF;
      IF some_beyond THEN
        UPDATE ${schema}.schedulers s SET until = moment + s.lease_ms * interval '1 millisecond'
        WHERE s.until > moment + s.lease_ms * interval '1 millisecond';
      END IF;
      INSERT INTO ${schema}.schedulers (incarnation, dedicated, lease_ms, until, entry)
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
        led.term := ${nextTerm};
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
        UPDATE ${schema}.leadership
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
        (SELECT string_agg(s.entry, ',') FROM ${schema}.schedulers s),
        greatest(led.host_lease_ms, led.former_host_lease_ms);
    END $$;`;

const resign = (schema: string) => `
    CREATE FUNCTION ${schema}.resign(me text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM FROM ${schema}.leadership FOR UPDATE;
      DELETE FROM ${schema}.schedulers s WHERE s.incarnation = me;
      UPDATE ${schema}.leadership l SET incarnation = NULL WHERE l.incarnation = me;
    END $$;`;

export const coordinationTables = (schema: string): string =>
  tables(schema) + campaign(schema, BY_ONE) + resign(schema);

/** A process of the release before calls it without the last parameter. */
export const termsByClock = (schema: string): string => `
    DROP FUNCTION ${schema}.campaign(
      text, text, text, bigint, boolean, double precision, double precision, text[], bigint);
    ${campaign(schema, BY_CLOCK)}`;
