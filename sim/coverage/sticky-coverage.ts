// Coverage of sticky actors; see coverage.ts. The leader and the host in its own process exchange messages
// without the network, so these are not visible. Other hosts exchange the same messages often enough.
import { isLimpetError } from "../../src/kernel/errors.ts";
import { compareVersions, type TableVersion } from "../../src/kernel/versions.ts";
import { Ring } from "../../src/placement/model/ring.ts";
import { VIRTUAL_NODES } from "../../src/placement/model/virtual-nodes.ts";
import { decodeArguments } from "../../src/wire/link/payloads.ts";
import type { VirtualLinkMessage } from "../../src/world/network/link-messages.ts";
import type { VirtualControlMessage } from "../../src/world/network/virtual-control.ts";
import type { Process } from "../../src/world/process.ts";
import { hostOf, isSticky, nameOf } from "../checkers/looks.ts";
import type { Life, Observer, Operation, Turn } from "../observer.ts";
import type { Stage } from "../stage.ts";

export const STICKY_COVERAGE = {
  "sticky: got another owner": "a host that requested an actor got the name of its holder",
  "sticky: waited for a new leader": "a host asked the next leader for an actor because the last one had not answered",
  "sticky: kept for a host that is away": "a caller got the error that an actor is kept for a lost host",
  "sticky: came back to its host by name": "a host got the actors kept for its name, without a request",
  "sticky: claimed after a change of leaders": "a host reported its actors to a new leader",
  "sticky: claims interrupted": "a leader got a part of a report, and then the stream ended",
  "sticky: released by an operator": "a host was ordered to release an actor by an operator",
  "sticky: placed against the ring": "a turn ran on a host of the type that is not the one the ring names",
  "sticky: gave way at the limit": "an actor was released because its host reached the limit of its type",
  "sticky: found after it moved": "a call was rejected by a host that did not hold its actor, and ran elsewhere",
  "sticky: granted in vain": "a host ended after it was granted an actor, before its activation",
} as const satisfies Record<string, string>;

type HostSent = Extract<VirtualControlMessage, { about: "host" }>["message"];
type LeaderSent = Extract<VirtualControlMessage, { about: "scheduler" }>["message"];

interface SentTable {
  readonly version: TableVersion;
  readonly addresses: readonly string[];
  readonly factor: number;
}

export class StickyCoverage implements Observer {
  readonly #stage: Stage;
  readonly #isSticky: boolean;
  /** Requested actor and addressed leader, by process and correlation. */
  readonly #asked = new Map<string, { readonly name: string; readonly to: number }>();
  readonly #namespaceAt = new Map<number, string>();
  /** Granted actors that are not active yet, by the place of the host. */
  readonly #granted = new Map<number, Set<string>>();
  readonly #claimedTo = new Map<Process, number>();
  /** Hosts that have sent a part of their report. */
  readonly #claiming = new Set<Process>();
  readonly #wantedGone = new Set<string>();
  /** By process and actor. */
  readonly #noRoom = new Set<string>();
  readonly #turnedAway = new Set<unknown>();
  readonly #tables = new Map<string, SentTable>();

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#isSticky = stage.plan.sticky !== undefined;
  }

  // ——— Actors and callers.

  activated(life: Life): void {
    this.#granted.get(life.process.place)?.delete(nameOf(life));
  }

  deactivated(life: Life, reason: string): void {
    if (reason === "memory" && isSticky(this.#stage.plan, life.type)) {
      this.#noRoom.add(`${life.process.number}/${nameOf(life)}`);
    }
  }

  turnBegan({ life, op }: Turn): void {
    if (!isSticky(this.#stage.plan, life.type)) return;
    if (this.#turnedAway.has(op)) this.#stage.reach("sticky: found after it moved");
    if (!this.#stage.reached.has("sticky: placed against the ring")) this.#lookAtRing(life);
  }

  #lookAtRing({ namespace, type, id, process }: Life): void {
    const table = this.#tables.get(`${namespace}/${type}`);
    const address = hostOf(process)?.status().address;
    if (table === undefined || address === undefined || !table.addresses.includes(address)) return;
    const owner = Ring.of(table.addresses, table.factor, VIRTUAL_NODES).owner(id);
    if (owner !== address) this.#stage.reach("sticky: placed against the ring");
  }

  answered({ outcome }: Operation): void {
    if (outcome !== undefined && "error" in outcome && isLimpetError(outcome.error, "OWNER_AWAY")) {
      this.#stage.reach("sticky: kept for a host that is away");
    }
  }

  gone(_host: unknown, process: Process): void {
    const granted = this.#granted.get(process.place);
    if (granted !== undefined && granted.size > 0) this.#stage.reach("sticky: granted in vain");
    this.#granted.delete(process.place);
  }

  faulted(fault: string): void {
    if (fault === "claims cut short") this.#stage.reach("sticky: claims interrupted");
  }

  // ——— Messages.

  sent(process: Process, to: number, message: unknown): void {
    if (!this.#isSticky) return;
    const sent = message as VirtualControlMessage | VirtualLinkMessage;
    if ("kind" in sent) {
      if (sent.kind === "call" && sent.call.hops > 0 && isSticky(this.#stage.plan, sent.call.type)) {
        this.#turnedAway.add(decodeArguments(sent.call.args as never)[0]);
      }
    } else if (sent.about === "host") this.#sentByHost(process, to, sent.message);
    else if (sent.about === "scheduler") this.#sentByLeader(to, sent.message);
    else if (sent.about === "admin" && sent.request.kind === "release") this.#wantedGone.add(nameOf(sent.request));
  }

  #sentByHost(process: Process, to: number, word: HostSent): void {
    const namespace = this.#namespaceAt.get(process.place) ?? "";
    switch (word.kind) {
      case "hello":
        this.#namespaceAt.set(process.place, word.namespace);
        if (this.#claiming.delete(process)) this.#stage.reach("sticky: claims interrupted");
        break;
      case "claims": {
        const before = this.#claimedTo.get(process);
        if (before !== undefined && before !== to) this.#stage.reach("sticky: claimed after a change of leaders");
        this.#claiming.add(process);
        break;
      }
      case "claimed":
        this.#claiming.delete(process);
        this.#claimedTo.set(process, to);
        break;
      case "acquire":
        for (const { correlation, type, id } of word.requests) {
          const key = `${process.place}/${correlation}`;
          const before = this.#asked.get(key);
          const name = nameOf({ namespace, type, id });
          if (before?.name === name && before.to !== to) this.#stage.reach("sticky: waited for a new leader");
          this.#asked.set(key, { name, to });
        }
        break;
      case "released":
        for (const id of word.ids) {
          const name = nameOf({ namespace, type: word.type, id });
          this.#granted.get(process.place)?.delete(name);
          if (this.#noRoom.delete(`${process.number}/${name}`)) this.#stage.reach("sticky: gave way at the limit");
        }
        break;
    }
  }

  #sentByLeader(to: number, word: LeaderSent): void {
    const namespace = this.#namespaceAt.get(to) ?? "";
    switch (word.kind) {
      case "acquired":
        for (const { kind, correlation } of word.answers) {
          const name = this.#asked.get(`${to}/${correlation}`)?.name;
          if (kind === "owner") this.#stage.reach("sticky: got another owner");
          if (kind !== "granted" || name === undefined) continue;
          const granted = this.#granted.get(to) ?? new Set();
          this.#granted.set(to, granted.add(name));
        }
        break;
      case "granted":
        this.#stage.reach("sticky: came back to its host by name");
        break;
      case "release":
        for (const id of word.ids) {
          const name = nameOf({ namespace, type: word.type, id });
          if (this.#wantedGone.delete(name)) this.#stage.reach("sticky: released by an operator");
        }
        break;
      case "order":
        for (const { type, version, hosts } of word.tables) {
          const key = `${word.namespace}/${type}`;
          const known = this.#tables.get(key);
          if (known !== undefined && compareVersions(version, known.version) <= 0) continue;
          const addresses = hosts.map(({ address }) => address);
          this.#tables.set(key, { version, addresses, factor: word.replicationFactor });
        }
        break;
    }
  }
}
