// Limpet: dissemination of the tables of a namespace when a host joins. Only types that change are sent, LOCK
// and UPDATE travel together, and a round waits for the hosts of its types alone.

import { HostTables } from "../../src/placement/model/host-tables.ts";
import type { Effect } from "../../src/placement/model/leader-effects.ts";
import { NamespaceController } from "../../src/placement/model/namespace-controller.ts";
import type { HostMessage, SchedulerMessage } from "../../src/ports/control-messages.ts";
import type { Fleet, LeaderEffect, SimulatedHost, SimulatedLeader } from "./control-simulation.ts";
import { helloOf, hostOf, type JoinScenario, measureJoin, NAMESPACE, REPLICATION_FACTOR } from "./join-scenario.ts";

class Leader implements SimulatedLeader {
  readonly controller = new NamespaceController(
    {
      namespace: NAMESPACE,
      term: 1,
      leaseMs: 10_000,
      replicationFactor: REPLICATION_FACTOR,
      failover: "lease",
      roundTimeoutMs: 8_000,
      coalesceMs: 0,
    },
    [],
    0,
  );

  receive(stream: number, message: HostMessage, now: number): LeaderEffect[] {
    const effects =
      message.kind === "hello"
        ? this.controller.hello(stream, message, now)
        : this.controller.message(stream, message, now);
    return this.#perform(effects);
  }

  #perform(effects: readonly Effect[]): LeaderEffect[] {
    return effects.flatMap((effect): LeaderEffect[] => {
      if (effect.kind === "send") return [effect];
      if (effect.kind === "close") throw new Error(`a stream was closed: ${effect.why}`);
      if (effect.kind !== "save") return [];
      const { host, types } = effect;
      return [{ kind: "note", noted: (now) => this.#perform(this.controller.saved(host.incarnation, types, now)) }];
    });
  }
}

class Host implements SimulatedHost {
  readonly #tables: HostTables;

  constructor(address: string) {
    this.#tables = new HostTables(address);
  }

  receive(message: SchedulerMessage): HostMessage[] {
    if (message.kind !== "order") return [];
    return this.#tables.order(message, 0).flatMap((effect) => {
      if (effect.kind === "ack") return [effect.message];
      if (effect.kind !== "drain") return [];
      // No actors are here, so none has to leave.
      const drained = this.#tables.drained(effect.round, effect.types);
      return drained.flatMap((it) => (it.kind === "ack" ? [it.message] : []));
    });
  }
}

/**
 * All hosts send their hello at once; then all orders of the leader are followed, until everything is
 * settled.
 */
function fleetOf({ hosts, types, joining }: JoinScenario): Fleet {
  const leader = new Leader();
  const members = Array.from({ length: hosts }, (_, index) => index);
  const witness = new Host(hostOf(0).address);
  const answerer = new Acknowledger();
  let effects = members.flatMap((stream) => leader.receive(stream, helloOf(stream, types), 0));
  while (effects.length > 0) {
    effects = effects.flatMap((effect) => {
      if (effect.kind === "note") return effect.noted(0);
      if (effect.streams.includes(0)) witness.receive(effect.message);
      const reports = answerer.receive(effect.message);
      return reports.flatMap((report) => effect.streams.flatMap((stream) => leader.receive(stream, report, 0)));
    });
  }
  const { types: controllers } = leader.controller.view();
  const settled = controllers.filter(({ phase, finished }) => phase === "settled" && finished?.hosts.length === hosts);
  if (settled.length !== types.length) throw new Error(`${settled.length} of ${types.length} types are settled`);
  return {
    leader,
    members,
    witness,
    joiner: { stream: hosts, host: new Host(hostOf(hosts).address), hello: helloOf(hosts, joining) },
  };
}

/** Sends the messages of a host, and keeps no state. */
class Acknowledger implements SimulatedHost {
  receive(message: SchedulerMessage): HostMessage[] {
    if (message.kind !== "order" || message.round === 0 || message.operation === "lock") return [];
    const { operation, round, types } = message;
    return [{ kind: "ack", operation, round, types }];
  }
}

export const join = measureJoin(fleetOf);
