// The scheduler of a process, as hosts and clients see it: the leader while its election lasts, and otherwise
// a source that knows the leader. It listens for other hosts only when there are other schedulers or it is
// dedicated.
import { LimpetError } from "../../kernel/errors.ts";
import type { LeaderAnswer, LeaderRequest } from "../../ports/admin.ts";
import type { ControlService, SchedulerList } from "../../ports/cluster/control-service.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { ElectionResult, SchedulerEntry } from "../../ports/store/coordination.ts";
import type { Leader, LeaderSource } from "../discovery/leader-source.ts";
import { localStream } from "../discovery/local-stream.ts";
import { Election, type ElectionDeps, type ElectionSettings } from "./election.ts";
import type { LeaderTerm } from "./leader-term.ts";
import { type OpenSchedulerServer, SchedulerServer } from "./scheduler-server.ts";

export interface SchedulerDeps extends Omit<ElectionDeps, "address" | "campaigned" | "changed"> {
  /** Starts the server for hosts of other processes. */
  openServer(service: ControlService): Promise<OpenSchedulerServer>;
}

export class Scheduler implements ControlService, LeaderSource {
  readonly #settings: ElectionSettings;
  readonly #deps: SchedulerDeps;
  readonly #election: Election;
  readonly #watchers = new SchedulerWatchers();
  readonly #server: SchedulerServer;
  onChange: (() => void) | undefined;

  constructor(settings: ElectionSettings, deps: SchedulerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#server = new SchedulerServer(() => deps.openServer(this));
    this.#election = new Election(settings, {
      ...deps,
      address: () => this.#server.address ?? "",
      campaigned: () => this.#campaigned(),
      changed: () => this.onChange?.(),
    });
  }

  /** Resolves when the leader is known, or when the store cannot answer. */
  async start(): Promise<void> {
    if (this.#settings.dedicated) await this.#server.open();
    await this.#election.campaign();
  }

  #campaigned(): void {
    if (this.schedulers.length > 1) this.#openServer();
    this.#watchers.notify(this.#election.result);
  }

  #openServer(): void {
    if (!this.#server.isClosed) return;
    void this.#server.open().then(
      () => this.recheck(),
      (err: LimpetError) => this.#deps.log.error("scheduler.listen-failed", { err }),
    );
  }

  get incarnation(): string {
    return this.#election.incarnation;
  }

  /** Undefined while the server for other hosts is not open. */
  get address(): string | undefined {
    return this.#server.address;
  }

  get leads(): boolean {
    return this.#election.leads;
  }

  get schedulers(): readonly SchedulerEntry[] {
    return this.#election.result?.schedulers ?? [];
  }

  // ——— The leader, for hosts of this process.

  get leader(): Leader | undefined {
    const { term, remote } = this.#election;
    return term === undefined ? remote : this.#self(term);
  }

  get problem(): string {
    return this.#election.isSilent
      ? "the store does not name the leader"
      : "no scheduler leads yet, or its server is not open yet";
  }

  get silentSince(): number | undefined {
    return this.#election.silentSince;
  }

  #self({ term }: LeaderTerm): Leader {
    return {
      address: this.address ?? "this process",
      term,
      report: (listener) => localStream(this.#deps.clock, listener, (stream) => this.report(stream)),
      endTerm: () => this.#election.endTerm(term),
      admin: (request) => this.admin(request),
    };
  }

  recheck(): void {
    this.#election.recheck();
  }

  sawTerm(term: number): void {
    this.#election.sawTerm(term);
  }

  // ——— The control service, for hosts and clients of other processes.

  report(stream: ControlStream<SchedulerMessage>): ControlListener<HostMessage> {
    const { term } = this.#election;
    if (term !== undefined) return term.report(stream);
    stream.close({ code: "NOT_LEADER", message: "this scheduler does not lead" });
    return { message() {}, closed() {} };
  }

  watch(listener: (list: SchedulerList) => void): () => void {
    return this.#watchers.watch(this.#election.result, listener);
  }

  admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>> {
    return this.#answer(request) as Promise<LeaderAnswer<R>>;
  }

  async #answer(request: LeaderRequest): Promise<LeaderAnswer<LeaderRequest>> {
    const { term } = this.#election;
    if (term === undefined) throw new LimpetError("NOT_LEADER", "this scheduler does not lead");
    if (request.kind !== "cluster") return term.admin(request);
    const schedulers = this.schedulers.map(({ address, incarnation, dedicated, leader }) => {
      return { address, incarnation, dedicated, leader };
    });
    return { term: term.term, schedulers, ...term.view() };
  }

  /** Updates the metrics of the leader, if it leads. */
  measure(): void {
    this.#election.term?.measure();
  }

  /** Hands leadership on at once. */
  async stop(): Promise<void> {
    this.#server.stop();
    await this.#election.stop();
    await this.#server.close();
  }
}

/**
 * The watchers of the list of schedulers: clients with configured schedulers, which look for the leader. An
 * unchanged list is not sent again.
 */
class SchedulerWatchers {
  /** Watchers, each with the last list it received, as text. */
  readonly #watchers = new Map<(list: SchedulerList) => void, string>();

  /** The returned function ends it. */
  watch(result: ElectionResult | undefined, listener: (list: SchedulerList) => void): () => void {
    const list = listOf(result);
    this.#watchers.set(listener, JSON.stringify(list));
    listener(list);
    return () => this.#watchers.delete(listener);
  }

  notify(result: ElectionResult | undefined): void {
    if (this.#watchers.size === 0) return;
    const list = listOf(result);
    const text = JSON.stringify(list);
    for (const [watcher, before] of [...this.#watchers]) {
      if (before === text) continue;
      this.#watchers.set(watcher, text);
      watcher(list);
    }
  }
}

function listOf(result: ElectionResult | undefined): SchedulerList {
  const hosts = (result?.schedulers ?? [])
    .filter(({ address }) => address !== "")
    .map(({ address, leader, dedicated, incarnation }) => ({ address, leader, dedicated, incarnation }));
  // Sorted, so that two lists of the same schedulers are equal.
  hosts.sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
  return { term: result?.term ?? 0, hosts };
}
