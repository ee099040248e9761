// The tables and functions of what schedulers agree on. Whoever changes or relies on the leadership locks its one row first
// and reads everything else after that, so all steps happen one after the other and nobody waits in a circle.
//
// The steps on the leadership are functions, because each statement in a function sees what was committed before that very
// statement began. A single statement sees other tables as they were when it started to wait for the lock: it would miss
// the dedicated scheduler that listed itself meanwhile. And a transaction over several round trips would keep everybody
// waiting for a process that was stopped in the middle of it.

const listed = `
      address text COLLATE "C" NOT NULL,
      machine text NOT NULL,
      pid bigint NOT NULL,
      dedicated boolean NOT NULL,
      lease_ms double precision NOT NULL,
      until timestamptz NOT NULL`;

/**
 * `leadership` has one row for ever, because its term must never go back. Without an incarnation it is free; the rest of the
 * row then goes on saying who led last. `types` is a JSON array, as text, so that it holds whatever a name may.
 */
const tables = (schema: string) => `
    CREATE TABLE ${schema}.leadership (
      one boolean PRIMARY KEY DEFAULT true CHECK (one),
      term bigint NOT NULL,
      incarnation text COLLATE "C",${listed},
      host_lease_ms double precision NOT NULL,
      former_host_lease_ms double precision NOT NULL
    ) WITH (fillfactor = 50);

    INSERT INTO ${schema}.leadership VALUES (true, 0, NULL, '', '', 0, false, 0, '-infinity', 0, 0);

    CREATE TABLE ${schema}.schedulers (
      incarnation text COLLATE "C" PRIMARY KEY,${listed}
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

const entry = (from: string, leader: string) =>
  `json_build_object('incarnation', ${from}.incarnation, 'address', ${from}.address, 'machine', ${from}.machine,
      'pid', ${from}.pid, 'dedicated', ${from}.dedicated, 'leader', ${leader})`;

/**
 * Answers a Standing, or NULL when `most` others are listed already. Rows of schedulers are few and all of them are needed,
 * so they are read whole. Nothing lasts longer than its lease from now, or a clock that was set back, or a replica with a
 * slower clock that was promoted, would leave the leadership with somebody who is long gone.
 *
 * A step that leaves the leadership as it was, which is every step of all but one, need not wait for the disk: a crash may
 * make the list forget who will be back in it in a moment. The others thus hold the lock for a fraction of a millisecond.
 */
const campaign = (schema: string) => `
    CREATE FUNCTION ${schema}.campaign(
      me text, my_address text, my_machine text, my_pid bigint, am_dedicated boolean,
      my_lease_ms double precision, my_host_lease_ms double precision, dead text[], most bigint
    ) RETURNS json LANGUAGE plpgsql AS $$
    DECLARE
      led ${schema}.leadership;
      before ${schema}.leadership;
      moment timestamptz;
      my_end timestamptz;
      may_lead boolean;
    BEGIN
      SELECT * INTO STRICT led FROM ${schema}.leadership FOR UPDATE;
      before := led;
      moment := clock_timestamp();
      my_end := moment + my_lease_ms * interval '1 millisecond';
      -- Who campaigns is alive, whatever it says of itself.
      dead := array_remove(dead, me);

      IF most <= (SELECT count(*) FROM ${schema}.schedulers s
                  WHERE s.incarnation <> me AND s.until > moment AND s.incarnation <> ALL (dead)) THEN
        RETURN NULL;
      END IF;
      DELETE FROM ${schema}.schedulers s WHERE s.until <= moment OR s.incarnation = ANY (dead);
      UPDATE ${schema}.schedulers s SET until = moment + s.lease_ms * interval '1 millisecond'
      WHERE s.until > moment + s.lease_ms * interval '1 millisecond';
      INSERT INTO ${schema}.schedulers (incarnation, address, machine, pid, dedicated, lease_ms, until)
      VALUES (me, my_address, my_machine, my_pid, am_dedicated, my_lease_ms, my_end)
      ON CONFLICT (incarnation) DO UPDATE
      SET address = excluded.address, machine = excluded.machine, pid = excluded.pid, dedicated = excluded.dedicated,
          lease_ms = excluded.lease_ms, until = excluded.until;

      led.until := least(led.until, moment + led.lease_ms * interval '1 millisecond');
      IF led.until <= moment OR led.incarnation = ANY (dead) THEN
        led.incarnation := NULL;
      END IF;
      may_lead := am_dedicated
        OR NOT EXISTS (SELECT FROM ${schema}.schedulers s WHERE s.dedicated AND s.incarnation <> me);
      IF led.incarnation IS NULL AND may_lead THEN
        led.term := led.term + 1;
        led.incarnation := me;
        led.former_host_lease_ms := led.host_lease_ms;
        led.host_lease_ms := my_host_lease_ms;
      ELSIF led.incarnation = me AND may_lead THEN
        led.host_lease_ms := greatest(led.host_lease_ms, my_host_lease_ms);
      ELSIF led.incarnation = me THEN
        led.incarnation := NULL;
      END IF;
      IF led.incarnation = me THEN
        led.address := my_address;
        led.machine := my_machine;
        led.pid := my_pid;
        led.dedicated := am_dedicated;
        led.lease_ms := my_lease_ms;
        led.until := my_end;
      END IF;

      IF led IS DISTINCT FROM before THEN
        UPDATE ${schema}.leadership
        SET term = led.term, incarnation = led.incarnation, address = led.address, machine = led.machine, pid = led.pid,
            dedicated = led.dedicated, lease_ms = led.lease_ms, until = led.until, host_lease_ms = led.host_lease_ms,
            former_host_lease_ms = led.former_host_lease_ms;
      ELSE
        PERFORM set_config('synchronous_commit', 'off', true);
      END IF;

      RETURN json_build_object(
        'term', led.term,
        'leading', coalesce(led.incarnation = me, false),
        'schedulers', (
          SELECT json_agg(${entry("s", "coalesce(s.incarnation = led.incarnation, false)")}
                          ORDER BY s.address, s.incarnation)
          FROM ${schema}.schedulers s),
        'hostLeaseMs', greatest(led.host_lease_ms, led.former_host_lease_ms),
        'leader', CASE WHEN led.incarnation IS NOT NULL THEN ${entry("led", "true")} END);
    END $$;`;

const resign = (schema: string) => `
    CREATE FUNCTION ${schema}.resign(me text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM FROM ${schema}.leadership FOR UPDATE;
      DELETE FROM ${schema}.schedulers s WHERE s.incarnation = me;
      UPDATE ${schema}.leadership l SET incarnation = NULL WHERE l.incarnation = me;
    END $$;`;

export const coordinationTables = (schema: string): string => tables(schema) + campaign(schema) + resign(schema);
