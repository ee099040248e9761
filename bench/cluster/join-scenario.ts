// The scenario for the comparison of protocols: a namespace of so many hosts, each of which has all its
// types, and one more host that joins with one of the types or with all of them.

import { VIRTUAL_NODES, VirtualNodes } from "../../src/placement/model/virtual-nodes.ts";
import type { Hello, HostMessage, SchedulerMessage, TableHost } from "../../src/ports/control-messages.ts";
import type { Make, Params } from "../case.ts";
import { ControlSimulation, type Fleet, type SimulatedHost } from "./control-simulation.ts";
import { BYTES_SENT, LOCKED, TIME_TO_UNLOCK } from "./figures.ts";

export const NAMESPACE = "default";
export const REPLICATION_FACTOR = 100;

export interface JoinScenario {
  readonly hosts: number;
  readonly types: readonly string[];
  /** Types of the joining host. */
  readonly joining: readonly string[];
}

function scenarioOf(params: Params): JoinScenario {
  const types = Array.from({ length: Number(params.types) }, (_, index) => `type-${index}`);
  return { hosts: Number(params.hosts), types, joining: params.joinsWith === "all" ? types : types.slice(0, 1) };
}

export function hostOf(index: number): TableHost {
  return {
    address: `10.1.${index >> 8}.${index & 255}:7400`,
    incarnation: `incarnation-${String(index).padStart(10, "0")}`,
    name: `app-${index}`,
  };
}

export function helloOf(index: number, types: readonly string[]): Hello {
  return {
    kind: "hello",
    namespace: NAMESPACE,
    replaces: undefined,
    types,
    unlocked: new Map(),
    machine: `machine-${index}`,
    pid: 1,
    ...hostOf(index),
  };
}

/**
 * A process that has just started has to compute the ring positions of all hosts. In the simulation it shares
 * a cache of them with the other hosts, which have had them for long, so it computes them separately.
 */
class Newcomer implements SimulatedHost {
  readonly #host: SimulatedHost;
  readonly #points = new VirtualNodes();

  constructor(host: SimulatedHost) {
    this.#host = host;
  }

  receive(message: SchedulerMessage): HostMessage[] {
    if (message.kind === "order") {
      for (const { hosts } of message.tables) {
        for (const { address } of hosts) this.#points.pointsOf(address, REPLICATION_FACTOR);
      }
    }
    return this.#host.receive(message);
  }
}

/** Code is compiled before the measurement: a leader has usually run for a while. */
const WARMUP = { hosts: 100, types: 10, joinsWith: "all" };
const WARMUPS = 5;

export const measureJoin =
  (fleetOf: (scenario: JoinScenario) => Fleet): Make =>
  async ({ params }) => {
    const join = (which: Params) => {
      const scenario = scenarioOf(which);
      for (let index = 0; index <= scenario.hosts; index++) {
        VIRTUAL_NODES.pointsOf(hostOf(index).address, REPLICATION_FACTOR);
      }
      const { joiner, ...fleet } = fleetOf(scenario);
      return new ControlSimulation({ ...fleet, joiner: { ...joiner, host: new Newcomer(joiner.host) } }).run();
    };
    for (let i = 0; i < WARMUPS; i++) join(WARMUP);
    return {
      async run() {
        const { tookMs, lockedMs, bytes } = join(params);
        return { [TIME_TO_UNLOCK]: tookMs, [LOCKED]: lockedMs, [BYTES_SENT]: bytes };
      },
      close: async () => {},
    };
  };
