// Checks that a version of a table is equal on all hosts: the same hosts, and the same owner of every actor.
// A host begins turns only of actors that its own table assigns to it; after a new table, waiting calls go to
// the new owner.
import { compareVersions, showVersion, type TableVersion } from "../../../src/kernel/versions.ts";
import type { Whereabouts } from "../../../src/ports/host-admin.ts";
import type { Said } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";
import { doorOf, ENDINGS, every, followsRing, labelOf, upHosts } from "../looks.ts";

const LOOK_MS = 500;
const RETURN_MS = 20;

export const routingAgreement: CheckerKind = {
  name: "routing agreement",
  rule: "hosts with the same version of a table name the same owner, versions do not go back, and only the owner begins a turn",
  make(stage, report) {
    const { calls } = stage.plan;
    const ids = [...new Set(calls.flatMap(({ id, how }) => [id, ...(how.via ?? []).map((via) => via.id)]))];
    // Tables do not determine the homes of sticky actors and shards.
    const isRinged = (type: string): boolean => followsRing(stage.plan, type);
    const types = [...new Set(stage.plan.hosts.flatMap((host) => host.types))].filter(isRinged);
    const contents = new Map<string, string>();
    const owners = new Map<string, { readonly owner: string | undefined; readonly process: number }>();
    /** Version of the last check, by process and type. */
    const seen = new Map<string, string>();
    const newest = new Map<Process, Map<string, TableVersion>>();
    /**
     * Processes that have just reconnected to a leader: they get all tables again, old and new, in one step.
     */
    const returned = new Map<Process, number>();

    /**
     * A host never goes back to an older table, unless it starts again. An answer from before that counts no
     * more.
     */
    async function grows(process: Process, type: string, asked: Promise<Whereabouts>): Promise<Whereabouts> {
      const own = newest.get(process) ?? new Map<string, TableVersion>();
      newest.set(process, own);
      const where = await asked;
      const now = { term: where.term, number: where.version };
      const before = own.get(type);
      if (now.number === 0 || newest.get(process) !== own) return where;
      own.set(type, now);
      if (before !== undefined && compareVersions(now, before) < 0) {
        report(
          `process ${process.number} goes back to table ${showVersion(now)} of ${type} from ${showVersion(before)}`,
        );
      }
      return where;
    }

    function watchReturned(): void {
      for (const [process, until] of returned) {
        const door = doorOf(process);
        if (door === undefined || stage.now > until) returned.delete(process);
        else for (const type of types) void grows(process, type, door.where(type, ids[0] ?? "x"));
      }
    }

    async function look(): Promise<void> {
      for (const { namespace, process, door } of [...upHosts(stage)]) {
        for (const type of types) {
          const { term, version } = await grows(process, type, door.where(type, ids[0]!));
          const [key, value] = [`${process.number}/${type}`, `${term}.${version}`];
          if (version === 0 || seen.get(key) === value) continue;
          seen.set(key, value);
          for (const id of ids) {
            const where = await door.where(type, id);
            // Only promise callbacks run between two requests; the answer names its table.
            compare(`${namespace}/${type}/${id}/${where.term}.${where.version}`, where.owner, process.number);
          }
        }
      }
    }

    function compare(key: string, owner: string | undefined, process: number): void {
      const before = owners.get(key);
      if (before === undefined) owners.set(key, { owner, process });
      else if (before.owner !== owner) {
        report(`${key} belongs to ${before.owner} for process ${before.process}, to ${owner} for process ${process}`);
      }
    }

    const lookNowAndThen = every(stage, LOOK_MS, () => {
      if (ids.length > 0) void look();
    });

    return {
      stepped() {
        lookNowAndThen();
        if (returned.size > 0) watchReturned();
      },
      told({ who, event }) {
        if (!ENDINGS.has(event)) return;
        const { process } = stage.player(who).host;
        if (process !== undefined) newest.delete(process);
      },
      sent(process, _to, message) {
        const said = message as Said;
        if (said.about === "host" && said.message.kind === "hello") returned.set(process, stage.now + RETURN_MS);
        if (said.about !== "scheduler" || said.message.kind !== "order" || said.message.operation !== "update") return;
        const { namespace, tables } = said.message;
        for (const { type, version, hosts } of tables) {
          const key = `${namespace}/${type} in version ${version.term}.${version.number}`;
          const content = hosts.map(({ address, incarnation }) => `${address} (${incarnation})`).join(", ");
          const before = contents.get(key);
          if (before === undefined) contents.set(key, content);
          else if (before !== content) report(`the table of ${key} names ${before}, and then ${content}`);
        }
      },
      turnBegan({ life, op }) {
        const { process, type, id } = life;
        if (!isRinged(type)) return;
        const now = process.clock.now();
        void doorOf(process)
          ?.where(type, id)
          .then(({ here, owner, since }) => {
            // A new table first releases waiting calls and then moves actors, all in one step. A call may
            // still find the actor in memory and run there; the move waits for it.
            const isNew = since !== undefined && since >= now - 1;
            if (!here && !isNew)
              report(`${labelOf(life)} begins ${op} at process ${process.number}, and it belongs to ${owner}`);
          });
      },
    };
  },
};
