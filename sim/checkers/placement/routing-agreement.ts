// Checks that a version of a table is equal on all hosts: the same hosts, and the same owner of every actor.
// A host begins turns only of actors that its own table assigns to it; after a new table, waiting calls go to
// the new owner.
import { compareVersions, showVersion, type TableVersion } from "../../../src/kernel/versions.ts";
import type { TypeTable } from "../../../src/ports/control-messages.ts";
import type { Host, Whereabouts } from "../../../src/ports/host-admin.ts";
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { StoryLine } from "../../../src/world/story.ts";
import type { Turn } from "../../observer.ts";
import type { Stage } from "../../stage.ts";
import type { Checker, CheckerKind, ReportViolation } from "../checker.ts";
import { ENDINGS, every, followsRing, hostOf, labelOf, upHosts } from "../looks.ts";

const LOOK_MS = 500;
const RETURN_MS = 20;

export const routingAgreement: CheckerKind = {
  name: "routing agreement",
  rule: "hosts with the same version of a table name the same owner, versions do not go back, and only the owner begins a turn",
  make: (stage, report) => new RoutingAgreement(stage, report),
};

class RoutingAgreement implements Checker {
  readonly #stage: Stage;
  readonly #report: ReportViolation;
  readonly #ids: readonly string[];
  /** Types with owners by table. Tables do not determine the homes of sticky actors and shards. */
  readonly #types: readonly string[];
  /** Hosts of a table as text, by namespace, type and version. */
  readonly #contents = new Map<string, string>();
  readonly #owners = new Map<string, { readonly owner: string | undefined; readonly process: number }>();
  /** Version of the last check, by process and type. */
  readonly #checked = new Map<string, string>();
  readonly #newest = new Map<Process, Map<string, TableVersion>>();
  /**
   * Processes that have just reconnected to a leader: they get all tables again, old and new, in one step.
   */
  readonly #returned = new Map<Process, number>();
  readonly #checkOwnersNowAndThen: () => void;

  constructor(stage: Stage, report: ReportViolation) {
    const { calls, hosts } = stage.plan;
    this.#stage = stage;
    this.#report = report;
    this.#ids = [...new Set(calls.flatMap(({ id, how }) => [id, ...(how.via ?? []).map((via) => via.id)]))];
    this.#types = [...new Set(hosts.flatMap(({ types }) => types))].filter((type) => followsRing(stage.plan, type));
    this.#checkOwnersNowAndThen = every(stage, LOOK_MS, () => {
      if (this.#ids.length > 0) void this.#checkOwners();
    });
  }

  stepped(): void {
    this.#checkOwnersNowAndThen();
    if (this.#returned.size > 0) this.#checkReturned();
  }

  logged({ who, event }: StoryLine): void {
    if (!ENDINGS.has(event)) return;
    const { process } = this.#stage.player(who).host;
    if (process !== undefined) this.#newest.delete(process);
  }

  sent(process: Process, _to: number, message: unknown): void {
    const sent = message as VirtualControlMessage;
    if (sent.about === "host" && sent.message.kind === "hello") {
      this.#returned.set(process, this.#stage.now + RETURN_MS);
    }
    if (sent.about !== "scheduler" || sent.message.kind !== "order" || sent.message.operation !== "update") return;
    for (const table of sent.message.tables) this.#checkContent(sent.message.namespace, table);
  }

  turnBegan({ life, op }: Turn): void {
    const { process, type, id } = life;
    if (!followsRing(this.#stage.plan, type)) return;
    const now = process.clock.now();
    void hostOf(process)
      ?.where(type, id)
      .then(({ here, owner, since }) => {
        // A new table first releases waiting calls and then moves actors, all in one step. A call may still
        // find the actor in memory and run there; the move waits for it.
        const isNew = since !== undefined && since >= now - 1;
        if (!here && !isNew)
          this.#report(`${labelOf(life)} begins ${op} at process ${process.number}, and it belongs to ${owner}`);
      });
  }

  #checkContent(namespace: string, { type, version, hosts }: TypeTable): void {
    const key = `${namespace}/${type} in version ${version.term}.${version.number}`;
    const content = hosts.map(({ address, incarnation }) => `${address} (${incarnation})`).join(", ");
    const before = this.#contents.get(key);
    if (before === undefined) this.#contents.set(key, content);
    else if (before !== content) this.#report(`the table of ${key} names ${before}, and then ${content}`);
  }

  #checkReturned(): void {
    for (const [process, until] of this.#returned) {
      const host = hostOf(process);
      if (host === undefined || this.#stage.now > until) this.#returned.delete(process);
      else for (const type of this.#types) void this.#checkVersion(process, type, host);
    }
  }

  async #checkOwners(): Promise<void> {
    for (const { namespace, process, host } of [...upHosts(this.#stage)]) {
      for (const type of this.#types) {
        const { term, version } = await this.#checkVersion(process, type, host);
        const [key, value] = [`${process.number}/${type}`, `${term}.${version}`];
        if (version === 0 || this.#checked.get(key) === value) continue;
        this.#checked.set(key, value);
        for (const id of this.#ids) {
          const where = await host.where(type, id);
          // Only promise callbacks run between two requests; the answer names its table.
          const table = `${namespace}/${type}/${id}/${where.term}.${where.version}`;
          this.#compareOwner(table, where.owner, process.number);
        }
      }
    }
  }

  /**
   * A host never goes back to an older table, unless it starts again. An answer from before that counts no
   * more.
   */
  async #checkVersion(process: Process, type: string, host: Host): Promise<Whereabouts> {
    const own = this.#newest.get(process) ?? new Map<string, TableVersion>();
    this.#newest.set(process, own);
    const where = await host.where(type, this.#ids[0] ?? "x");
    const now = { term: where.term, number: where.version };
    const before = own.get(type);
    if (now.number === 0 || this.#newest.get(process) !== own) return where;
    own.set(type, now);
    if (before !== undefined && compareVersions(now, before) < 0) {
      const versions = `table ${showVersion(now)} of ${type} from ${showVersion(before)}`;
      this.#report(`process ${process.number} goes back to ${versions}`);
    }
    return where;
  }

  #compareOwner(key: string, owner: string | undefined, process: number): void {
    const before = this.#owners.get(key);
    if (before === undefined) this.#owners.set(key, { owner, process });
    else if (before.owner !== owner) {
      const others = `${before.owner} for process ${before.process}`;
      this.#report(`${key} belongs to ${others}, to ${owner} for process ${process}`);
    }
  }
}
