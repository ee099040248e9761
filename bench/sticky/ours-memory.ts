// Limpet: memory of the leader for a sticky actor. The ids have come over the wire as after a change of
// leaders: encoded and decoded, so that they share no memory with their source.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { StickyOwners } from "../../src/placement/model/sticky-owners.ts";
import type { HostMessage } from "../../src/ports/control-messages.ts";
import { readHostMessage, writeHostMessage } from "../../src/wire/control/codec/message-codec.ts";
import { HostReportSchema } from "../../src/wire/proto/gen/limpet/control/v1/control_pb.js";
import { heapBytes } from "../actors/heap.ts";
import type { Make } from "../case.ts";
import { idOf } from "./ids.ts";

const TYPE = "Cart";
const HOSTS = 10;
const PART = 1_000;
const WARMUP = 10_000;

type Claims = Extract<HostMessage, { kind: "claims" }>;

/** `count` claims in parts, as the leader reads them. */
export function* claimsOf(first: number, count: number): Generator<Claims> {
  for (let at = 0; at < count; at += PART) {
    const numbers = Array.from({ length: Math.min(PART, count - at) }, (_, i) => first + at + i);
    const claims: Claims = {
      kind: "claims",
      part: at / PART + 1,
      type: TYPE,
      ids: numbers.map(idOf),
      since: numbers.map((number) => 1_800_000_000_000 + number),
    };
    const bytes = toBinary(HostReportSchema, writeHostMessage(claims));
    yield readHostMessage(fromBinary(HostReportSchema, bytes)) as Claims;
  }
}

const hostOf = (number: number) => ({
  address: `10.1.0.${number}:7400`,
  incarnation: `incarnation-${number}`,
  name: `app-${number}`,
});

export const owners: Make = async ({ params }) => ({
  async run() {
    const count = Number(params.actors);
    // Code and the buffers of the codec are in place before the measurement begins.
    fill(new StickyOwners(), WARMUP);
    const before = await heapBytes();
    const filled = new StickyOwners();
    fill(filled, count);
    const after = await heapBytes();
    if (filled.size(TYPE) !== count) throw new Error(`${filled.size(TYPE)} of ${count} actors are held`);
    return (after - before) / count;
  },
  close: async () => {},
});

function fill(owners: StickyOwners, count: number): void {
  owners.agree([TYPE], new Map([[TYPE, 0]]), () => false);
  for (let number = 0; number < HOSTS; number++) {
    const host = hostOf(number);
    owners.hostJoined(host);
    for (const { type, ids, since } of claimsOf((number * count) / HOSTS, count / HOSTS)) {
      const conflicts = owners.claims(host, type, ids, since);
      if (conflicts.length > 0) throw new Error(`${conflicts.length} actors belong to somebody else`);
    }
    owners.claimed(host);
  }
}
