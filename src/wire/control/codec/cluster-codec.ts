// The list of schedulers and the cluster view as protobuf. Decoding checks every field.
import { invariant } from "../../../kernel/errors.ts";
import type { SchedulerHost, SchedulerList } from "../../../ports/cluster/control-service.ts";
import type { ClusterHost, ClusterSticky, ClusterTable, ClusterView, StickyHolder } from "../../../ports/host-admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { type Codec, message } from "./codec.ts";
import { LOST_RULE } from "./sticky-codec.ts";
import {
  ADDRESS,
  address,
  FLAG,
  HOST_NAME,
  INCARNATION,
  id,
  listOf,
  NAMESPACE,
  optional,
  refuseMessage,
  TYPE,
  types,
  wholeNumber,
  wireWords,
} from "./value-codecs.ts";

const { ClusterHost_State: State, ClusterTable_Phase: Phase } = proto;

const SCHEDULER_ADDRESS = address("the address of a scheduler");

const SCHEDULERS: Codec<readonly SchedulerHost[], proto.SchedulerHost[]> = listOf(
  message(proto.SchedulerHostSchema, {
    address: { ...SCHEDULER_ADDRESS, read: (wire) => (wire === "" ? "" : SCHEDULER_ADDRESS.read(wire)) },
    leader: FLAG,
    dedicated: FLAG,
    incarnation: id("the incarnation of a scheduler"),
  }),
);

function readOneLeader(hosts: proto.SchedulerHost[]): readonly SchedulerHost[] {
  if (hosts.filter(({ leader }) => leader).length > 1) refuseMessage("more than one scheduler leads");
  return SCHEDULERS.read(hosts);
}

export const SCHEDULER_LIST: Codec<SchedulerList, proto.WatchHostsResponse> = message(proto.WatchHostsResponseSchema, {
  term: wholeNumber("a term"),
  hosts: { write: SCHEDULERS.write, read: readOneLeader },
});

const LEASE_LEFT: Codec<number, number> = {
  write(left) {
    invariant(Number.isFinite(left), "the remaining time of a lease is a number");
    return left;
  },
  read: (left) => (Number.isFinite(left) ? left : refuseMessage("the remaining time of a lease must be a number")),
};

const HOST: Codec<ClusterHost, proto.ClusterHost> = message(proto.ClusterHostSchema, {
  namespace: NAMESPACE,
  address: ADDRESS,
  name: HOST_NAME,
  incarnation: INCARNATION,
  state: wireWords(
    {
      expected: State.EXPECTED,
      joining: State.JOINING,
      member: State.MEMBER,
      suspect: State.SUSPECT,
      evicted: State.EVICTED,
    },
    (code) => `${code} is not a state of a host`,
  ),
  leaseLeftMs: LEASE_LEFT,
  types: types(),
  actors: wholeNumber("a number of actors"),
});

const HOLDER: Codec<StickyHolder, proto.StickyHolder> = message(proto.StickyHolderSchema, {
  address: ADDRESS,
  name: HOST_NAME,
  actors: wholeNumber("a number of actors"),
  away: FLAG,
});

const STICKY: Codec<ClusterSticky, proto.ClusterSticky> = message(proto.ClusterStickySchema, {
  lost: ["rule", LOST_RULE],
  holders: listOf(HOLDER),
});

const TABLE: Codec<ClusterTable, proto.ClusterTable> = message(proto.ClusterTableSchema, {
  namespace: NAMESPACE,
  type: TYPE,
  version: wholeNumber("a version"),
  term: wholeNumber("a term"),
  hosts: listOf(ADDRESS),
  phase: wireWords(
    { closed: Phase.CLOSED, settled: Phase.SETTLED, updating: Phase.UPDATING, unlocking: Phase.UNLOCKING },
    (code) => `${code} is not a phase of a table`,
  ),
  waitsFor: listOf(ADDRESS),
  sticky: optional(STICKY),
});

export const CLUSTER_VIEW: Codec<ClusterView, proto.DescribeClusterResponse> = message(
  proto.DescribeClusterResponseSchema,
  { term: wholeNumber("a term"), schedulers: SCHEDULERS, hosts: listOf(HOST), tables: listOf(TABLE) },
);
