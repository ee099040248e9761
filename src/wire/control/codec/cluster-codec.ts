// Encodes the list of schedulers and the cluster view as protobuf, and decodes them. Decoding checks every
// field.
import { create } from "@bufbuild/protobuf";
import { invariant } from "../../../kernel/errors.ts";
import type { SchedulerHost, SchedulerList } from "../../../ports/cluster/control-service.ts";
import type { ClusterHost, ClusterSticky, ClusterTable, ClusterView } from "../../../ports/host-admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { readAddress, readId, readText, readTypes, readWhole, readWord, refuseMessage, writeWhole } from "./checks.ts";
import { readRule, writeRule } from "./sticky-codec.ts";

export function writeSchedulerList({ term, hosts }: SchedulerList): proto.WatchHostsResponse {
  return create(proto.WatchHostsResponseSchema, { term: writeWhole(term, "a term"), hosts: hosts.map(writeScheduler) });
}

export function readSchedulerList({ term, hosts }: proto.WatchHostsResponse): SchedulerList {
  const schedulers = hosts.map(readScheduler);
  if (schedulers.filter(({ leader }) => leader).length > 1) refuseMessage("more than one scheduler leads");
  return { term: readWhole(term, "a term"), hosts: schedulers };
}

const writeScheduler = ({ address, leader, dedicated, incarnation }: SchedulerHost): proto.SchedulerHost =>
  create(proto.SchedulerHostSchema, { address, leader, dedicated, incarnation });

function readScheduler({ address, leader, dedicated, incarnation }: proto.SchedulerHost): SchedulerHost {
  return {
    address: address === "" ? "" : readAddress(address, "the address of a scheduler"),
    leader,
    dedicated,
    incarnation: readId(incarnation, "the incarnation of a scheduler"),
  };
}

export function writeClusterView({ term, schedulers, hosts, tables }: ClusterView): proto.DescribeClusterResponse {
  return create(proto.DescribeClusterResponseSchema, {
    term: writeWhole(term, "a term"),
    schedulers: schedulers.map(writeScheduler),
    hosts: hosts.map(writeHost),
    tables: tables.map(writeTable),
  });
}

export function readClusterView({ term, schedulers, hosts, tables }: proto.DescribeClusterResponse): ClusterView {
  return {
    term: readWhole(term, "a term"),
    schedulers: schedulers.map(readScheduler),
    hosts: hosts.map(readHost),
    tables: tables.map(readTable),
  };
}

const { ClusterHost_State: State, ClusterTable_Phase: Phase } = proto;

const STATES: Record<ClusterHost["state"], proto.ClusterHost_State> = {
  expected: State.EXPECTED,
  joining: State.JOINING,
  member: State.MEMBER,
  suspect: State.SUSPECT,
  evicted: State.EVICTED,
};

const PHASES: Record<ClusterTable["phase"], proto.ClusterTable_Phase> = {
  closed: Phase.CLOSED,
  settled: Phase.SETTLED,
  updating: Phase.UPDATING,
  unlocking: Phase.UNLOCKING,
};

function wordOf<Word extends string>(codes: Record<Word, number>, code: number, what: string): Word {
  const found = Object.entries(codes).find(([, known]) => known === code);
  return found === undefined ? refuseMessage(`${code} is not a ${what}`) : (found[0] as Word);
}

function writeHost(host: ClusterHost): proto.ClusterHost {
  invariant(Number.isFinite(host.leaseLeftMs), "the remaining time of a lease is a number");
  return create(proto.ClusterHostSchema, {
    ...host,
    types: [...host.types],
    state: STATES[host.state],
    actors: writeWhole(host.actors, "a number of actors"),
  });
}

function readHost(host: proto.ClusterHost): ClusterHost {
  if (!Number.isFinite(host.leaseLeftMs)) refuseMessage("the remaining time of a lease must be a number");
  return {
    namespace: readWord(host.namespace, "namespace"),
    address: readAddress(host.address, "the address of a host"),
    name: readText(host.name, "the name of a host"),
    incarnation: readId(host.incarnation, "the incarnation of a host"),
    state: wordOf(STATES, host.state, "state of a host"),
    leaseLeftMs: host.leaseLeftMs,
    types: readTypes(host.types),
    actors: readWhole(host.actors, "a number of actors"),
  };
}

function writeTable({ sticky, ...table }: ClusterTable): proto.ClusterTable {
  return create(proto.ClusterTableSchema, {
    ...table,
    ...(sticky === undefined ? {} : { sticky: writeSticky(sticky) }),
    version: writeWhole(table.version, "a version"),
    term: writeWhole(table.term, "a term"),
    hosts: [...table.hosts],
    phase: PHASES[table.phase],
    waitsFor: [...table.waitsFor],
  });
}

function readTable(table: proto.ClusterTable): ClusterTable {
  const address = (value: string) => readAddress(value, "the address of a host");
  return {
    namespace: readWord(table.namespace, "namespace"),
    type: readWord(table.type, "actor type"),
    version: readWhole(table.version, "a version"),
    term: readWhole(table.term, "a term"),
    hosts: table.hosts.map(address),
    phase: wordOf(PHASES, table.phase, "phase of a table"),
    waitsFor: table.waitsFor.map(address),
    sticky: table.sticky && readSticky(table.sticky),
  };
}

const writeSticky = ({ lost, holders }: ClusterSticky): proto.ClusterSticky =>
  create(proto.ClusterStickySchema, {
    rule: writeRule(lost),
    holders: holders.map((holder) => ({ ...holder, actors: writeWhole(holder.actors, "a number of actors") })),
  });

const readSticky = ({ rule, holders }: proto.ClusterSticky): ClusterSticky => ({
  lost: readRule(rule),
  holders: holders.map(({ address, name, actors, away }) => ({
    address: readAddress(address, "the address of a host"),
    name: readText(name, "the name of a host"),
    actors: readWhole(actors, "a number of actors"),
    away,
  })),
});
