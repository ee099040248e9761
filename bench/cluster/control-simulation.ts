// A leader and its hosts in virtual time, to measure the cost of a change of the tables.
// Real: the decisions of both sides, their encoding as on the wire, and the processor time of both. This time
// is measured as it passes, so a busy machine inflates it, and added to the virtual clock of its process.
// Every host has its own processor; the leader has one for everything.
// Simulated: a message takes `DELAY_MS` one way, a durable write of the leader `NOTE_MS`. A message to many
// hosts is encoded once here and counted as often as the leader's server would encode it. Sockets cost
// nothing. Hosts hold no actors, so nothing has to be released. Of the present hosts, which all get the same
// messages, one does the work; the others take as long.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { HostMessage, Operation, SchedulerMessage } from "../../src/ports/control-messages.ts";
import {
  ReplyReader,
  readHostMessage,
  writeHostMessage,
  writeSchedulerMessage,
} from "../../src/wire/control/codec/message-codec.ts";
import { HostReportSchema, SchedulerReplySchema } from "../../src/wire/proto/gen/limpet/control/v1/control_pb.js";
import { spreadOf } from "../report/statistics.ts";
import { VirtualTime } from "./virtual-time.ts";

const DELAY_MS = 0.5;
const NOTE_MS = 1;
const ENCODINGS_TIMED = 5;

export type LeaderEffect =
  | { readonly kind: "send"; readonly streams: readonly number[]; readonly message: SchedulerMessage }
  /** Persist something, then continue. */
  | { readonly kind: "note"; readonly noted: (now: number) => LeaderEffect[] };

export interface SimulatedLeader {
  receive(stream: number, message: HostMessage, now: number): LeaderEffect[];
}

export interface SimulatedHost {
  receive(message: SchedulerMessage): HostMessage[];
}

export interface Fleet {
  readonly leader: SimulatedLeader;
  /** Hosts that are already members. */
  readonly members: readonly number[];
  /** Stands for each of them. */
  readonly witness: SimulatedHost;
  /** The host that joins, and its first message. */
  readonly joiner: { readonly stream: number; readonly host: SimulatedHost; readonly hello: HostMessage };
}

export interface Outcome {
  /** From the joiner's hello to the moment when the last host has followed the last UNLOCK. */
  readonly tookMs: number;
  /** How long types were locked on a present host. */
  readonly lockedMs: number;
  /** Bytes of all messages in both directions. */
  readonly bytes: number;
}

/** A host, or several that do the same at the same time. */
interface Party {
  readonly streams: ReadonlySet<number>;
  readonly host: SimulatedHost;
  readonly reader: ReplyReader;
  freeAt: number;
}

export class ControlSimulation {
  readonly #time = new VirtualTime();
  readonly #leader: SimulatedLeader;
  readonly #parties: readonly Party[];
  readonly #joiner: Fleet["joiner"];
  #leaderFreeAt = 0;
  #bytes = 0;
  #firstLock: number | undefined;
  #lastUnlock: number | undefined;
  #lockedMs = 0;

  constructor({ leader, members, witness, joiner }: Fleet) {
    this.#leader = leader;
    this.#joiner = joiner;
    const party = (streams: readonly number[], host: SimulatedHost): Party => ({
      streams: new Set(streams),
      host,
      reader: new ReplyReader(),
      freeAt: 0,
    });
    this.#parties = [party(members, witness), party([joiner.stream], joiner.host)];
  }

  run(): Outcome {
    this.#report(this.#joiner.stream, this.#encodeReport(this.#joiner.hello), 0);
    this.#time.run();
    if (this.#lastUnlock === undefined) throw new Error("the join led to no UNLOCK");
    return { tookMs: this.#lastUnlock, lockedMs: this.#lockedMs, bytes: this.#bytes };
  }

  /** From a host to the leader. */
  #report(stream: number, bytes: Uint8Array, at: number): void {
    this.#bytes += bytes.length;
    this.#time.at(at + DELAY_MS, (now) =>
      this.#lead(now, (moment) =>
        this.#leader.receive(stream, readHostMessage(fromBinary(HostReportSchema, bytes)), moment),
      ),
    );
  }

  /** The leader decides, then encodes and sends one message after the other. */
  #lead(now: number, decide: (now: number) => LeaderEffect[]): void {
    const start = Math.max(now, this.#leaderFreeAt);
    const began = performance.now();
    const effects = decide(start);
    let at = start + performance.now() - began;
    for (const effect of effects) {
      if (effect.kind === "note") {
        this.#time.at(at + NOTE_MS, (noted) => this.#lead(noted, effect.noted));
        continue;
      }
      const { streams, message } = effect;
      const encode = () => writeSchedulerMessage(message, true).map((reply) => toBinary(SchedulerReplySchema, reply));
      const { result: parts, ms } = timed(encode, 1);
      at += ms;
      this.#send(streams, parts, at);
    }
    this.#leaderFreeAt = at;
  }

  #send(streams: readonly number[], parts: readonly Uint8Array[], at: number): void {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    this.#bytes += length * streams.length;
    for (const party of this.#parties) {
      const theirs = streams.filter((stream) => party.streams.has(stream));
      if (theirs.length > 0) this.#time.at(at + DELAY_MS, (now) => this.#follow(party, theirs, parts, now));
    }
  }

  #follow(party: Party, streams: readonly number[], parts: readonly Uint8Array[], now: number): void {
    const start = Math.max(now, party.freeAt);
    const began = performance.now();
    let message: SchedulerMessage | undefined;
    for (const part of parts) message = party.reader.read(fromBinary(SchedulerReplySchema, part));
    const reports = party.host.receive(message!).map((report) => this.#encodeReport(report));
    const done = start + performance.now() - began;
    party.freeAt = done;
    if (message!.kind === "order" && message!.round > 0) this.#note(party, message!.operation, done);
    for (const report of reports) for (const stream of streams) this.#report(stream, report, done);
  }

  /** Orders of a snapshot, which is round 0, lock no host. */
  #note(party: Party, operation: Operation, now: number): void {
    const wasThere = party === this.#parties[0];
    if (operation === "lock" && wasThere) this.#firstLock ??= now;
    if (operation !== "unlock") return;
    this.#lastUnlock = Math.max(this.#lastUnlock ?? 0, now);
    if (wasThere) this.#lockedMs = now - this.#firstLock!;
  }

  #encodeReport(message: HostMessage): Uint8Array {
    return toBinary(HostReportSchema, writeHostMessage(message));
  }
}

/** Time of doing this so many times, from the median of a few. */
function timed<T>(work: () => T, times: number): { readonly result: T; readonly ms: number } {
  const samples: number[] = [];
  let result: T;
  do {
    const began = performance.now();
    result = work();
    samples.push(performance.now() - began);
  } while (samples.length < Math.min(times, ENCODINGS_TIMED));
  return { result, ms: times * spreadOf(samples)!.median };
}
