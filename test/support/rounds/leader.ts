// A leader of the small world: drives the pure controller, persists with a delay, and dies without notice.

import { showVersion } from "../../../src/kernel/versions.ts";
import type { Effect } from "../../../src/placement/model/leader-effects.ts";
import { NamespaceController } from "../../../src/placement/model/namespace-controller.ts";
import type { HostMessage } from "../../../src/ports/control-messages.ts";
import type { Link } from "./link.ts";
import { count, LEASE_MS, type World } from "./world.ts";

export class Leader {
  readonly room: NamespaceController;
  readonly #world: World;
  readonly #term: number;
  readonly #links = new Map<number, Link>();
  readonly #notes: { readonly write: () => void; readonly then: () => void }[] = [];
  #alarm = Number.POSITIVE_INFINITY;
  alive = true;

  constructor(world: World) {
    this.#world = world;
    this.#term = ++world.term;
    const settings = { leaseMs: LEASE_MS, roundTimeoutMs: 8_000, coalesceMs: 100, replicationFactor: 3 };
    const members = [...world.members.values()];
    world.record(
      "leader",
      `term ${this.#term} begins with ${members.map(({ incarnation, types }) => `${incarnation} (${types})`)}`,
    );
    this.room = new NamespaceController(
      { namespace: "n", term: this.#term, failover: "lease", ...settings },
      members,
      world.now + LEASE_MS,
    );
    this.#arm();
  }

  connect(link: Link): void {
    this.#links.set(link.number, link);
  }

  die(): void {
    this.#world.record("leader", "dies");
    if (this.room.view().hosts.some(({ state }) => state === "expected")) {
      count("a leader still waits for hosts when it dies");
    }
    this.alive = false;
    for (const link of this.#links.values()) link.cut();
  }

  receive(link: Link, message: HostMessage): void {
    if (message.kind === "hello") {
      this.#feed((now) => this.room.hello(link.number, message, now));
    } else {
      this.#feed((now) => this.room.message(link.number, message, now));
    }
  }

  closed(link: Link): void {
    this.#links.delete(link.number);
    this.#feed((now) => this.room.closed(link.number, now));
  }

  dead(incarnation: string): void {
    this.#feed((now) => this.room.dead(incarnation, now));
  }

  #feed(input: (now: number) => Effect[]): void {
    if (!this.alive) return;
    for (const effect of input(this.#world.now)) this.#perform(effect);
    this.#arm();
  }

  #arm(): void {
    const { deadline } = this.room;
    if (deadline === this.#alarm) return;
    this.#alarm = deadline;
    if (deadline === Number.POSITIVE_INFINITY) return;
    this.#world.at(Math.max(deadline, this.#world.now), () => {
      if (this.#alarm !== deadline) return;
      this.#alarm = Number.POSITIVE_INFINITY;
      this.#feed((now) => this.room.tick(now));
    });
  }

  #perform(effect: Effect): void {
    switch (effect.kind) {
      case "send":
        for (const stream of effect.streams) this.#links.get(stream)?.toHost(effect.message);
        // When some hosts have got UNLOCK and others never will, a successor has to be most careful.
        if (effect.message.kind === "order" && effect.message.operation === "unlock") this.#mayDieWithin(150);
        break;
      case "close":
        this.#links.get(effect.stream)?.closeFrom("leader");
        this.#links.delete(effect.stream);
        // The real stream also reports its end to the side that closed it.
        this.#world.after(0, () => this.#feed((now) => this.room.closed(effect.stream, now)));
        break;
      case "save": {
        this.#world.record("leader", `save ${effect.host.incarnation} ${effect.types}`);
        const { incarnation, address, machine, pid } = effect.host;
        const { types } = effect;
        this.#note(
          () => this.#world.members.set(incarnation, { incarnation, address, machine, pid, types }),
          () => this.#feed((now) => this.room.saved(incarnation, types, now)),
        );
        break;
      }
      case "drop":
        this.#world.record("leader", `drop ${effect.incarnation}`);
        this.#note(
          () => this.#world.members.delete(effect.incarnation),
          () => {},
        );
        break;
      case "began": {
        const { type, version, base, hosts } = effect.table;
        const names = hosts.map(({ incarnation }) => incarnation);
        this.#mayDieWithin(700);
        if (version.number > 1 && base === undefined) count("a round without a base");
        if (base !== undefined && base.term < version.term) count("a base of an earlier leader");
        this.#world.record("leader", `${type} ${showVersion(version)} on ${base && showVersion(base)}: ${names}`);
        break;
      }
      case "settled":
        this.#world.record("leader", `${effect.type} settled`);
        break;
      case "host":
        count(`a host is ${effect.event}`);
        this.#world.record("leader", `${effect.host.incarnation} ${effect.event} ${effect.why}`);
        break;
    }
  }

  #mayDieWithin(ms: number): void {
    if (this.#world.chance() > this.#world.deadlyRounds) return;
    this.#world.after(this.#world.between(0, ms), () => this.alive && this.#world.loseLeader());
  }

  /** One after another. */
  #note(write: () => void, then: () => void): void {
    this.#notes.push({ write, then });
    if (this.#notes.length === 1) this.#writeNote();
  }

  #writeNote(): void {
    const [note] = this.#notes;
    if (note === undefined) return;
    const slow = !this.#world.calm && this.#world.chance() < 0.2;
    this.#world.after(this.#world.between(1, slow ? 3_000 : 30), () => {
      // The store rejects writes of a leader of an older term.
      if (this.#world.term !== this.#term || (!this.alive && this.#world.chance() < 0.5)) return;
      note.write();
      if (!this.alive) return;
      note.then();
      this.#notes.shift();
      this.#writeNote();
    });
  }
}
