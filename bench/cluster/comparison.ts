// The usual protocol of control planes of this kind, for comparison: one lock for the whole namespace. Every
// change of any host locks all types everywhere, then sends all tables of all types to all hosts, then
// unlocks. Each of the three phases waits until every host has answered. Hosts rebuild all their rings.
// It exists only in this benchmark. It uses our messages, our encoding and our ring, so that only the
// protocol differs.

import { Ring } from "../../src/placement/model/ring.ts";
import type {
  HostMessage,
  Operation,
  PlacementOrder,
  SchedulerMessage,
  TableHost,
} from "../../src/ports/control-messages.ts";
import type { Fleet, LeaderEffect, SimulatedHost, SimulatedLeader } from "./control-simulation.ts";
import { helloOf, hostOf, type JoinScenario, measureJoin, NAMESPACE, REPLICATION_FACTOR } from "./join-scenario.ts";

const PHASES = ["lock", "update", "unlock"] as const satisfies readonly Operation[];

interface Known {
  readonly host: TableHost;
  readonly types: readonly string[];
}

class NamespaceLock implements SimulatedLeader {
  readonly #hosts = new Map<number, Known>();
  readonly #waiting = new Set<number>();
  #version = 1;
  #phase: Operation | undefined;
  /** Hosts that join during a round wait for the next one. */
  #changed = false;

  constructor(members: readonly (readonly [stream: number, known: Known])[]) {
    for (const [stream, known] of members) this.#hosts.set(stream, known);
  }

  receive(stream: number, message: HostMessage): LeaderEffect[] {
    if (message.kind === "hello") return [{ kind: "note", noted: () => this.#join(stream, message) }];
    if (message.kind !== "ack" || message.operation !== this.#phase || message.round !== this.#version) return [];
    this.#waiting.delete(stream);
    return this.#waiting.size > 0 ? [] : this.#advance();
  }

  #join(stream: number, { address, incarnation, name, types }: HostMessage & { kind: "hello" }): LeaderEffect[] {
    this.#hosts.set(stream, { host: { address, incarnation, name }, types });
    this.#changed = true;
    return this.#phase === undefined ? this.#begin() : [];
  }

  #begin(): LeaderEffect[] {
    this.#changed = false;
    this.#version++;
    return this.#enter("lock");
  }

  #advance(): LeaderEffect[] {
    const next = PHASES[PHASES.indexOf(this.#phase!) + 1];
    if (next !== undefined) return this.#enter(next);
    this.#phase = undefined;
    return this.#changed ? this.#begin() : [];
  }

  #enter(phase: Operation): LeaderEffect[] {
    this.#phase = phase;
    const streams = [...this.#hosts.keys()];
    for (const stream of streams) this.#waiting.add(stream);
    return [{ kind: "send", streams, message: this.#order(phase) }];
  }

  #order(operation: Operation): PlacementOrder {
    const version = { term: 1, number: this.#version };
    const tables =
      operation === "update" ? this.#tables().map((table) => ({ ...table, version, base: undefined })) : [];
    return {
      kind: "order",
      operation,
      namespace: NAMESPACE,
      term: 1,
      round: this.#version,
      types: [],
      tables,
      replicationFactor: REPLICATION_FACTOR,
    };
  }

  #tables(): { type: string; hosts: TableHost[] }[] {
    const byType = new Map<string, TableHost[]>();
    for (const { host, types } of this.#hosts.values()) {
      for (const type of types) {
        const hosts = byType.get(type);
        if (hosts === undefined) byType.set(type, [host]);
        else hosts.push(host);
      }
    }
    return [...byType].map(([type, hosts]) => ({ type, hosts }));
  }
}

class RebuildingHost implements SimulatedHost {
  rings: readonly Ring[] = [];

  receive(message: SchedulerMessage): HostMessage[] {
    if (message.kind !== "order") return [];
    const { operation, round, tables, replicationFactor } = message;
    if (operation === "update") {
      const addresses = tables.map(({ hosts }) => hosts.map(({ address }) => address));
      this.rings = addresses.map((each) => Ring.of(each, replicationFactor));
    }
    return [{ kind: "ack", operation, round, types: [] }];
  }
}

function fleetOf({ hosts, types, joining }: JoinScenario): Fleet {
  const members = Array.from({ length: hosts }, (_, index) => index);
  return {
    leader: new NamespaceLock(members.map((index) => [index, { host: hostOf(index), types }])),
    members,
    witness: new RebuildingHost(),
    joiner: { stream: hosts, host: new RebuildingHost(), hello: helloOf(hosts, joining) },
  };
}

export const join = measureJoin(fleetOf);
