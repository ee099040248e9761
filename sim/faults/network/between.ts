// Faults between the parts of a world: on a connection, before the server of a host, before the database.
// They are installed once per world, when a fault first needs them, and have no effect otherwise.

import { LimpetError } from "../../../src/kernel/errors.ts";
import type { Prng } from "../../../src/kernel/prng.ts";
import type { Question } from "../../../src/world/database/database.ts";
import type { End, Station } from "../../../src/world/network/network.ts";
import { KIND } from "../../../src/world/timeline.ts";
import type { World } from "../../../src/world/world.ts";

/** State of a broken route between one place and the database. Requests time out after a while. */
export interface DatabaseWay {
  /** Requests or responses are lost, or requests arrive when the route is open again. */
  readonly how: "questions" | "answers" | "late";
  readonly waiting: (() => void)[];
}

export interface Between {
  /** When both ends have detected every broken connection, as far as is known. */
  noticedAt: number;
  /** Connections that transport nothing any more, by either end. Neither end gets a notification. */
  readonly forgotten: WeakSet<End>;
  /** Called with each message before it travels. */
  readonly lookouts: Set<(from: End, message: unknown) => void>;
  /** Select messages of which a second copy arrives. */
  readonly copiers: Set<(from: End, message: unknown) => boolean>;
  /** Addresses that refuse connections. */
  readonly refusing: Set<string>;
  /** By place. */
  readonly databaseWays: Map<number, DatabaseWay>;
  /** Select requests whose response is lost. */
  readonly lostResponses: Set<(question: Question) => boolean>;
  /** Delay of a request, if it is longer than usual. */
  readonly heldUp: Set<(question: Question) => number | undefined>;
  /** Delay of a response, if it is longer than usual. The request itself is applied in time. */
  readonly slowAnswers: Set<(station: Station, question: Question) => number | undefined>;
  /** Select requests that fail before anything is applied. */
  readonly failing: Set<(station: Station, question: Question) => boolean>;
}

const known = new WeakMap<World, Between>();

export function between(world: World): Between {
  const found = known.get(world);
  if (found !== undefined) return found;
  const made: Between = {
    noticedAt: 0,
    forgotten: new WeakSet(),
    lookouts: new Set(),
    copiers: new Set(),
    refusing: new Set(),
    databaseWays: new Map(),
    lostResponses: new Set(),
    heldUp: new Set(),
    slowAnswers: new Set(),
    failing: new Set(),
  };
  known.set(world, made);
  standOnTheWay(world, made);
  standBeforeServers(world, made);
  standBeforeDatabase(world, made);
  return made;
}

function standOnTheWay({ network }: World, { forgotten, lookouts, copiers }: Between): void {
  const deliver = network.deliver.bind(network);
  network.deliver = (from, message, arrive) => {
    if (message !== undefined) for (const look of lookouts) look(from, message);
    if (forgotten.has(from)) return;
    deliver(from, message, arrive);
    if (message === undefined || ![...copiers].some((copies) => copies(from, message))) return;
    deliver(from, undefined, () => {
      if (from.peer?.isOpen) from.peer.receiver?.message(message);
    });
  };
}

function standBeforeServers({ network }: World, { refusing }: Between): void {
  const connect = network.connect.bind(network);
  network.connect = (station, address, patience, receiver) =>
    connect(station, refusing.has(address) ? closedPort(address) : address, patience, receiver);
}

/** A port of the same machine without a listener. */
const closedPort = (address: string): string => address.replace(/:\d+$/, ":1");

function standBeforeDatabase({ database, timeline }: World, made: Between): void {
  const { databaseWays, lostResponses: unheard, heldUp, slowAnswers, failing } = made;
  const ask = database.ask.bind(database);
  const never = <T>(): Promise<T> => new Promise(() => {});
  const pass = (ms: number): Promise<void> =>
    new Promise<void>((go) => timeline.plan(timeline.now + ms, KIND.query, undefined, go));
  database.ask = (station, question, work) =>
    ask(station, question, async () => {
      if ([...failing].some((fails) => fails(station, question)))
        throw new LimpetError("STORE_UNAVAILABLE", "the database failed: the connection was refused");
      const there = databaseWays.get(station.place);
      if (there?.how === "questions") return never();
      if (there?.how === "late") {
        await new Promise<void>((go) => there.waiting.push(go));
        const { isDown, isReadOnly } = database.troubles;
        if (isDown || isReadOnly) throw new LimpetError("STORE_UNAVAILABLE", "the database failed: it does not answer");
      }
      const ms = [...heldUp].map((holds) => holds(question)).find((held) => held !== undefined);
      if (ms !== undefined) {
        await pass(ms);
        const { isDown, isReadOnly } = database.troubles;
        if (isDown || isReadOnly) throw new LimpetError("STORE_UNAVAILABLE", "the database failed: it does not answer");
      }
      const result = await work();
      if ([...unheard].some((isLost) => isLost(question))) return never();
      const late = [...slowAnswers].map((slows) => slows(station, question)).find((slow) => slow !== undefined);
      if (late !== undefined) await pass(late);
      return databaseWays.get(station.place)?.how === "answers" ? never() : result;
    });
}

/** Delivers the requests that were held back. */
export function reopenDatabaseWay(world: World, place: number): void {
  const { databaseWays } = between(world);
  const way = databaseWays.get(place);
  databaseWays.delete(place);
  const { timeline } = world;
  for (const go of way?.waiting ?? []) timeline.plan(timeline.now, KIND.query, undefined, go);
}

/** The connection transports nothing any more. Both ends keep it until they detect the silence. */
export function forget(world: World, end: End, chance: Prng): void {
  const { forgotten } = between(world);
  for (const one of [end, end.peer]) {
    if (one === undefined) continue;
    forgotten.add(one);
    loseLater(world, one, chance);
  }
}

/** The end loses its connection after its timeout for silence. */
export function loseLater(world: World, end: End, chance: Prng): void {
  const { timeline } = world;
  const { tickMs, silentTicks } = end.patience;
  const at = timeline.now + tickMs * (silentTicks + chance.number());
  const made = between(world);
  made.noticedAt = Math.max(made.noticedAt, at);
  timeline.plan(at, KIND.network, end.station, () => end.lose("silent"));
}
