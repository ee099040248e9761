// Checks that a new table does not affect actors whose owner stays the same: they stay in memory, and calls
// reach them. A host releases all actors only when its lease ends or the leader orders it.
import { isLimpetError } from "../../../src/kernel/errors.ts";
import { Ring } from "../../../src/placement/model/ring.ts";
import { VIRTUAL_NODES } from "../../../src/placement/model/virtual-nodes.ts";
import type { HostMessage, SchedulerMessage } from "../../../src/ports/control-messages.ts";
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { StoryLine } from "../../../src/world/story.ts";
import type { Life, Operation } from "../../observer.ts";
import type { Stage } from "../../stage.ts";
import type { Checker, CheckerKind, ReportViolation } from "../checker.ts";
import { ENDINGS, followsRing, hostOf, labelOf, nameOf } from "../looks.ts";

interface Table {
  readonly addresses: readonly string[];
  readonly factor: number;
}

export const unmoved: CheckerKind = {
  name: "unmoved ids never blocked",
  rule: "a host does not release an actor whose owner stays the same, and calls to it do not fail with NOT_SETTLED",
  make: (stage, report) => new Unmoved(stage, report),
};

class Unmoved implements Checker {
  readonly #stage: Stage;
  readonly #report: ReportViolation;
  /** Hosts of every table, by namespace, type and number; several if terms used the number again. */
  readonly #tables = new Map<string, Table[]>();
  /** Number of the table at the beginning of each activation. */
  readonly #begun = new Map<number, number>();
  readonly #lives = new Map<string, Life>();
  /** How often each host had to give up everything, by its name. */
  readonly #endings = new Map<string, number>();
  readonly #incarnations = new Map<Process, { readonly incarnation: string; readonly endings: number }>();

  constructor(stage: Stage, report: ReportViolation) {
    this.#stage = stage;
    this.#report = report;
  }

  logged({ who, event }: StoryLine): void {
    if (ENDINGS.has(event)) this.#endings.set(who, (this.#endings.get(who) ?? 0) + 1);
  }

  sent(process: Process, _to: number, message: unknown): void {
    const sent = message as VirtualControlMessage;
    if (sent.about === "host" && sent.message.kind === "hello") this.#checkIncarnation(process, sent.message);
    if (sent.about === "scheduler" && sent.message.kind === "order") this.#addTables(sent.message);
  }

  activated(life: Life): void {
    if (!followsRing(this.#stage.plan, life.type)) return;
    this.#lives.set(nameOf(life), life);
    void hostOf(life.process)
      ?.where(life.type, life.id)
      .then(({ version }) => this.#begun.set(life.number, version));
  }

  deactivated(life: Life, reason: string): void {
    const from = this.#begun.get(life.number);
    this.#begun.delete(life.number);
    if (this.#lives.get(nameOf(life)) === life) this.#lives.delete(nameOf(life));
    const host = hostOf(life.process);
    if (reason !== "moved" || from === undefined || host === undefined) return;
    const { address } = host.status();
    void host.where(life.type, life.id).then(({ here, version }) => {
      if (!here || !this.#stayed(life, from, version, address)) return;
      const process = `process ${life.process.number}, its owner from ${from} to ${version}`;
      this.#report(`${labelOf(life)} had to leave ${process}`);
    });
  }

  answered({ call, namespace, token, beganAt, outcome }: Operation): void {
    if (outcome === undefined || !("error" in outcome) || !isLimpetError(outcome.error, "NOT_SETTLED")) return;
    // The error may concern another actor, which this one called first.
    if (call.how.via !== undefined) return;
    const life = this.#lives.get(nameOf({ namespace, type: call.type, id: call.id }));
    if (life === undefined || life.bornAt > beganAt || !life.process.isAwake) return;
    const host = hostOf(life.process);
    // A stopping host without a successor for a type accepts no calls for it.
    if (host?.status().problem === "this process is stopping") return;
    void host?.where(life.type, life.id).then(({ here, activeHere }) => {
      if (!here || !activeHere) return;
      this.#report(`${token} got NOT_SETTLED, and ${labelOf(life)} was at process ${life.process.number} all along`);
    });
  }

  #checkIncarnation(process: Process, { incarnation, name }: Extract<HostMessage, { kind: "hello" }>): void {
    const known = this.#incarnations.get(process);
    const endings = this.#endings.get(name) ?? 0;
    if (known !== undefined && known.incarnation !== incarnation && known.endings === endings) {
      this.#report(`${name} gave up all its actors, although its lease was not over and no leader had removed it`);
    }
    this.#incarnations.set(process, { incarnation, endings });
  }

  #addTables({ namespace, replicationFactor, tables }: Extract<SchedulerMessage, { kind: "order" }>): void {
    for (const { type, version, hosts } of tables) {
      const key = `${namespace}/${type}/${version.number}`;
      const known = this.#tables.get(key) ?? [];
      this.#tables.set(key, known);
      const addresses = hosts.map(({ address }) => address);
      if (!known.some((one) => String(one.addresses) === String(addresses))) {
        known.push({ addresses, factor: replicationFactor });
      }
    }
  }

  /** True if every table between the two numbers is known and assigns the actor to this host. */
  #stayed({ namespace, type, id }: Life, from: number, to: number, address: string | undefined): boolean {
    for (let number = from; number <= to; number++) {
      const tables = this.#tables.get(`${namespace}/${type}/${number}`) ?? [];
      const isOwner = ({ addresses, factor }: Table): boolean =>
        Ring.of(addresses, factor, VIRTUAL_NODES).owner(id) === address;
      if (tables.length === 0 || !tables.every(isOwner)) return false;
    }
    return true;
  }
}
