// A stream of the small world. Either direction keeps its order; the two ends may detect its end at different
// times.
import type { HostMessage, SchedulerMessage } from "../../../src/ports/control-messages.ts";
import type { Host } from "./host.ts";
import type { Leader } from "./leader.ts";
import type { World } from "./world.ts";

export class Link {
  readonly number: number;
  readonly host: Host;
  readonly leader: Leader;
  readonly #world: World;
  /** When the last message of a direction arrives. */
  readonly #last = { toHost: 0, toLeader: 0 };
  /** Later messages do not arrive. */
  #cutAt = Number.POSITIVE_INFINITY;
  readonly ended = { toHost: false, toLeader: false };
  static #count = 0;

  constructor(world: World, host: Host, leader: Leader) {
    this.number = ++Link.#count;
    this.#world = world;
    this.host = host;
    this.leader = leader;
    leader.connect(this);
  }

  #carry(way: "toHost" | "toLeader", act: () => void): void {
    if (this.#cutAt < Number.POSITIVE_INFINITY) return;
    const at = Math.max(this.#last[way], this.#world.now + this.#world.delay());
    this.#last[way] = at;
    this.#world.at(at, () => {
      if (at <= this.#cutAt && !this.ended[way]) act();
    });
  }

  toHost(message: SchedulerMessage): void {
    this.#carry("toHost", () => this.host.process.awake(() => this.host.receive(this, message)));
  }

  toLeader(message: HostMessage): void {
    this.#carry("toLeader", () => this.leader.receive(this, message));
  }

  /** One end leaves; the other gets all earlier messages. */
  closeFrom(end: "host" | "leader"): void {
    this.ended[end === "host" ? "toHost" : "toLeader"] = true;
    const other = end === "host" ? "toLeader" : "toHost";
    this.#carry(other, () => this.#end(other));
  }

  /** The stream breaks: some messages in flight are lost, and the ends detect it at different times. */
  cut(): void {
    if (this.#cutAt < Number.POSITIVE_INFINITY) return;
    this.#cutAt = this.#world.now + this.#world.between(0, 200);
    const late = this.#world.calm ? 300 : 12_000;
    this.#world.at(this.#cutAt + this.#world.between(0, 300), () => this.#end("toHost"));
    this.#world.at(this.#cutAt + this.#world.between(0, late), () => this.#end("toLeader"));
  }

  #end(way: "toHost" | "toLeader"): void {
    if (this.ended[way]) return;
    this.ended[way] = true;
    if (way === "toHost") this.host.process.awake(() => this.host.closed(this));
    else this.leader.closed(this);
  }
}
