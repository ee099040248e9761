// The rounds of all types of a namespace, and the orders that they send to hosts. Types that change at the
// same moment share one order. A new stream receives a snapshot before any other order. Pure.

import { invariant } from "../../kernel/errors.ts";
import { sameVersion, type TableVersion } from "../../kernel/versions.ts";
import type { Operation, PlacementOrder, SchedulerMessage, TypeTable } from "../../ports/control-messages.ts";
import { ActorTypeController, type TypeRequest, type TypeSettings } from "./actor-type-controller.ts";
import { type ConnectionController, describeRecord, type HostRecord } from "./connection-controller.ts";
import type { Effect } from "./leader-effects.ts";

export interface RoundSettings extends TypeSettings {
  readonly namespace: string;
  readonly term: number;
  readonly leaseMs: number;
  readonly replicationFactor: number;
}

export interface RoundDeps {
  readonly connections: ConnectionController;
  /** A finished round has shown which hosts hold nothing of the type any more. */
  settled(type: string, tookMs: number, effects: Effect[]): void;
}

/**
 * More rounds than a leader ever begins. Terms share no numbers, so an old acknowledgement never fits a new
 * round. Terms count seconds since 2026 (stores/leadership.ts), so round numbers stay exact in a JavaScript
 * number until 2043.
 */
const ROUNDS_OF_A_TERM = 2 ** 24;

interface TableRequest {
  readonly type: string;
  readonly request: TypeRequest;
}

export class TypeRounds {
  readonly #settings: RoundSettings;
  readonly #deps: RoundDeps;
  readonly #types = new Map<string, ActorTypeController>();
  #lastRound: number;

  constructor(settings: RoundSettings, deps: RoundDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#lastRound = settings.term * ROUNDS_OF_A_TERM;
  }

  get all(): Iterable<ActorTypeController> {
    return this.#types.values();
  }

  get deadline(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { deadline } of this.#types.values()) if (deadline < first) first = deadline;
    return first;
  }

  get(type: string): ActorTypeController | undefined {
    return this.#types.get(type);
  }

  /** The controller of this type, created on first use. */
  of(type: string): ActorTypeController {
    let controller = this.#types.get(type);
    if (controller === undefined) {
      controller = new ActorTypeController(type, this.#settings.term, this.#settings);
      this.#types.set(type, controller);
    }
    return controller;
  }

  /** Every host that may hold actors of the type has connected. */
  open(controller: ActorTypeController, now: number): void {
    const holders = this.#deps.connections.holdersOf(controller.type);
    const silent = holders.find(({ state }) => state === "expected");
    if (silent !== undefined)
      invariant(false, `a type is opened when its holders have connected; ${describeRecord(silent)}`);
    const versions = holders.map(({ unlocked }) => unlocked.get(controller.type));
    const [first] = versions;
    const agreed =
      first !== undefined && versions.every((version) => version !== undefined && sameVersion(version, first));
    const lastNumber = Math.max(0, ...versions.map((version: TableVersion | undefined) => version?.number ?? 0));
    controller.open(
      new Set(holders.map(({ incarnation }) => incarnation)),
      agreed ? first : undefined,
      lastNumber,
      now,
    );
  }

  /** Reports whether a table lists the host, so that it may regard itself as an owner. */
  names(incarnation: string): boolean {
    const names = (table: TypeTable | undefined): boolean =>
      table?.hosts.some((host) => host.incarnation === incarnation) === true;
    return [...this.#types.values()].some(({ finished, table }) => names(finished) || names(table));
  }

  mayHold({ incarnation }: HostRecord, type: string): boolean {
    const controller = this.#types.get(type);
    return controller === undefined || controller.phase === "closed" || controller.mayHold(incarnation);
  }

  acked(
    { incarnation }: HostRecord,
    {
      operation,
      round,
      types,
    }: { readonly operation: Operation; readonly round: number; readonly types: readonly string[] },
    now: number,
    effects: Effect[],
  ): void {
    const requests: TableRequest[] = [];
    for (const type of types) {
      const controller = this.#types.get(type);
      if (controller === undefined) continue;
      for (const request of controller.acked(incarnation, operation, round, now)) requests.push({ type, request });
    }
    this.#send(requests, effects);
  }

  gone({ incarnation }: HostRecord, types: Iterable<string>, now: number, effects: Effect[]): void {
    for (const type of types) {
      const controller = this.#types.get(type);
      if (controller !== undefined) this.grant(controller, controller.gone(incarnation, now), effects);
    }
  }

  grant({ type }: ActorTypeController, requests: readonly TypeRequest[], effects: Effect[]): void {
    this.#send(
      requests.map((request) => ({ type, request })),
      effects,
    );
  }

  /** Begins all rounds that can begin. False: none could. */
  begin(now: number, effects: Effect[]): boolean {
    const requests: TableRequest[] = [];
    const number = this.#lastRound + 1;
    if (number >= (this.#settings.term + 1) * ROUNDS_OF_A_TERM)
      invariant(false, `rounds of a term do not reach the next term; term ${this.#settings.term}, round ${number}`);
    const isNew = (incarnation: string): boolean => {
      const host = this.#deps.connections.host(incarnation);
      return host?.stream !== undefined && host.isFresh;
    };
    for (const [type, controller] of this.#types) {
      for (const request of controller.begin(number, now, isNew)) requests.push({ type, request });
    }
    if (requests.length > 0) this.#lastRound = number;
    this.#send(requests, effects);
    return requests.length > 0;
  }

  /** Turns the requested steps into orders, one for all steps of the same kind and round. */
  #send(requests: readonly TableRequest[], effects: Effect[]): void {
    const streams = requests.length > 0 ? this.#deps.connections.streams() : [];
    const begun = requests.flatMap(({ request }) => (request.kind === "begin" ? [request] : []));
    if (begun.length > 0) {
      const tables = begun.map(({ table }) => table);
      const types = tables.map(({ type }) => type);
      for (const { table, reason } of begun) effects.push({ kind: "began", table, reason });
      effects.push({ kind: "send", streams, message: this.#order("lock", this.#lastRound, types, []) });
      effects.push({ kind: "send", streams, message: this.#order("update", this.#lastRound, types, tables) });
    }
    const unlocks = new Map<number, string[]>();
    for (const { type, request } of requests) {
      if (request.kind === "unlock") unlocks.set(request.round, [...(unlocks.get(request.round) ?? []), type]);
    }
    for (const [round, types] of unlocks) {
      effects.push({ kind: "send", streams, message: this.#order("unlock", round, types, []) });
    }
    for (const { type, request } of requests)
      if (request.kind === "settled") this.#deps.settled(type, request.tookMs, effects);
  }

  /**
   * Time has passed. Repeats orders to hosts that have not acknowledged them; `late` gets hosts that have
   * delayed a round for too long. A host without a stream gets the round on its next one.
   */
  tick(now: number, late: (incarnations: readonly string[]) => void, effects: Effect[]): void {
    const again = new Map<string, ActorTypeController[]>();
    for (const controller of this.#types.values()) {
      for (const request of controller.tick(now)) {
        if (request.kind === "late") late(request.incarnations);
        if (request.kind !== "again") continue;
        for (const host of request.incarnations) again.set(host, [...(again.get(host) ?? []), controller]);
      }
    }
    for (const [incarnation, controllers] of again) {
      const stream = this.#deps.connections.host(incarnation)?.stream;
      if (stream !== undefined) this.#repeat(stream, controllers, effects);
    }
  }

  #repeat(stream: number, controllers: readonly ActorTypeController[], effects: Effect[]): void {
    const send = (message: SchedulerMessage): void => void effects.push({ kind: "send", streams: [stream], message });
    for (const [number, { tables, unlocked }] of inProgress(controllers, () => true)) {
      const updating = tables.filter(({ type }) => !unlocked.includes(type));
      const types = updating.map(({ type }) => type);
      if (types.length > 0) send(this.#order("lock", number, types, []));
      if (types.length > 0) send(this.#order("update", number, types, updating));
      if (unlocked.length > 0) send(this.#order("unlock", number, unlocked, []));
    }
  }

  // ——— First messages on a stream.

  welcome(stream: number, effects: Effect[]): void {
    const { term, leaseMs } = this.#settings;
    effects.push({ kind: "send", streams: [stream], message: { kind: "welcome", term, leaseMs } });
  }

  /**
   * Sends the last finished table of every type, then the rounds in progress. Leaves out a table that lists
   * an earlier host at the same address: the new host would regard itself as an owner that no round waits
   * for. Another table follows, because that earlier host is gone.
   */
  inform(host: HostRecord, effects: Effect[]): void {
    const { stream } = host;
    if (stream === undefined) invariant(false, `only a connected host gets a snapshot; ${describeRecord(host)}`);
    host.isInformed = true;
    host.isFresh = false;
    const send = (message: SchedulerMessage): void => void effects.push({ kind: "send", streams: [stream], message });
    const isMeant = ({ hosts }: TypeTable): boolean =>
      hosts.every(({ address, incarnation }) => address !== host.address || incarnation === host.incarnation);
    const finished = [...this.#types.values()].flatMap(({ finished }) => finished ?? []);
    const tables = finished.filter(isMeant);
    const listed = new Set(tables.map(({ type }) => type));
    const undecided = [...this.#types.keys()].filter((type) => !listed.has(type));
    send(this.#order("lock", 0, [], []));
    send(this.#order("update", 0, undecided, tables));
    send(this.#order("unlock", 0, [], []));
    for (const [number, { tables, unlocked }] of inProgress(this.#types.values(), isMeant)) {
      const types = tables.map(({ type }) => type);
      send(this.#order("lock", number, types, []));
      send(this.#order("update", number, types, tables));
      if (unlocked.length > 0) send(this.#order("unlock", number, unlocked, []));
    }
  }

  #order(operation: Operation, round: number, types: readonly string[], tables: readonly TypeTable[]): PlacementOrder {
    const { namespace, term, replicationFactor } = this.#settings;
    return { kind: "order", operation, namespace, term, round, types, tables, replicationFactor };
  }
}

/** Rounds of these types in progress, by number, with the types that are unlocked. */
function inProgress(
  controllers: Iterable<ActorTypeController>,
  isMeant: (table: TypeTable) => boolean,
): Map<number, { tables: TypeTable[]; unlocked: string[] }> {
  const rounds = new Map<number, { tables: TypeTable[]; unlocked: string[] }>();
  for (const controller of controllers) {
    const current = controller.catchUp();
    if (current === undefined || !isMeant(current.table)) continue;
    const round = rounds.get(current.round) ?? { tables: [], unlocked: [] };
    round.tables.push(current.table);
    if (current.unlocked) round.unlocked.push(controller.type);
    rounds.set(current.round, round);
  }
  return rounds;
}
