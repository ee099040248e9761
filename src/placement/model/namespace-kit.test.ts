// A namespace on the leader for tests: messages of hosts as methods, and the leader's effects as lines.
import assert from "node:assert/strict";
import type { TableVersion } from "../../kernel/versions.ts";
import type { Hello, HostMessage, Operation, SchedulerMessage, TypeTable } from "../../ports/control-messages.ts";
import type { KnownMember } from "./connection-controller.ts";
import type { Effect } from "./leader-effects.ts";
import { NamespaceController, type NamespaceSettings } from "./namespace-controller.ts";

export const LEASE_MS = 10_000;
export const ROUND_MS = 8_000;
export const COALESCE_MS = 100;

/**
 * Hosts are named by single letters. Rounds are shown from 1, versions without their term unless it is
 * another one.
 */
export class Stage {
  readonly term: number;
  readonly controller: NamespaceController;
  now = 0;
  /** Records are written at once, unless the story is about them. */
  persists = true;

  constructor(members: readonly KnownMember[] = [], settings: Partial<NamespaceSettings> = {}) {
    this.term = settings.term ?? 1;
    this.controller = new NamespaceController(
      {
        namespace: "n",
        term: this.term,
        leaseMs: LEASE_MS,
        roundTimeoutMs: ROUND_MS,
        coalesceMs: COALESCE_MS,
        replicationFactor: 10,
        failover: "lease",
        ...settings,
      },
      members,
      LEASE_MS,
    );
  }

  // ——— Inputs.

  #perform(effects: readonly Effect[]): string[] {
    const lines: string[] = [];
    for (const effect of effects) {
      lines.push(...this.#show(effect));
      if (effect.kind !== "save" || !this.persists) continue;
      lines.push(...this.#perform(this.controller.saved(effect.host.incarnation, effect.types, this.now)));
    }
    return lines;
  }

  hello(stream: number, incarnation: string, types: readonly string[], more: Partial<Hello> = {}): string[] {
    const hello: Hello = {
      kind: "hello",
      namespace: "n",
      incarnation,
      replaces: undefined,
      address: `${incarnation}:1`,
      name: `host ${incarnation}`,
      types,
      unlocked: new Map(),
      machine: "m",
      pid: 7,
      ...more,
    };
    return this.#perform(this.controller.hello(stream, hello, this.now));
  }

  send(stream: number, message: Exclude<HostMessage, Hello>): string[] {
    return this.#perform(this.controller.message(stream, message, this.now));
  }

  types(stream: number, ...types: string[]): string[] {
    return this.send(stream, { kind: "types", types });
  }

  ack(streams: readonly number[], operation: Operation, round: number, ...types: string[]): string[] {
    const message = { kind: "ack", operation, round: this.#firstRound + round, types } as const;
    return streams.flatMap((stream) => this.send(stream, message));
  }

  /** All hosts acknowledge a round at once. */
  follow(streams: readonly number[], round: number, ...types: string[]): string[] {
    return [...this.ack(streams, "update", round, ...types), ...this.ack(streams, "unlock", round, ...types)];
  }

  renew(...streams: number[]): string[] {
    return streams.flatMap((stream) => this.send(stream, { kind: "renew", sequence: 5, actors: 3 }));
  }

  closed(stream: number): string[] {
    return this.#perform(this.controller.closed(stream, this.now));
  }

  saved(incarnation: string, ...types: string[]): string[] {
    return this.#perform(this.controller.saved(incarnation, types, this.now));
  }

  handedOver(incarnation: string): string[] {
    return this.#perform(this.controller.handedOver(incarnation, this.now));
  }

  dead(incarnation: string): string[] {
    return this.#perform(this.controller.dead(incarnation, this.now));
  }

  wait(ms = COALESCE_MS): string[] {
    this.now += ms;
    return this.#perform(this.controller.tick(this.now));
  }

  /** Hosts with these types, on streams 1, 2 …, in tables that have settled. */
  static settled(hosts: string, ...types: string[]): Stage {
    const stage = new Stage();
    const streams = [...hosts].map((incarnation, i) => {
      stage.hello(i + 1, incarnation, types);
      return i + 1;
    });
    for (let round = 1; round < 4; round++) {
      stage.follow(streams, round, ...types);
      stage.wait();
    }
    for (const { phase, finished } of stage.controller.view().types) {
      assert.equal(phase, "settled");
      assert.equal(finished?.hosts.length, hosts.length);
    }
    return stage;
  }

  // ——— Effects as text.

  get #firstRound(): number {
    return this.term * 2 ** 24;
  }

  #version({ term, number }: TableVersion): string {
    return term === this.term ? `${number}` : `${number}@${term}`;
  }

  #table({ type, version, base, hosts }: TypeTable): string {
    const names = hosts.map(({ incarnation }) => incarnation).join("");
    return `${type} ${this.#version(version)}${base ? `/${this.#version(base)}` : ""} {${names}}`;
  }

  #message(message: SchedulerMessage): string | undefined {
    if (message.kind === "renewed") return `renewed ${message.sequence}`;
    if (message.kind !== "order") return message.kind;
    const { operation, round, types, tables } = message;
    if (round === 0) {
      // Only the middle of a snapshot has contents.
      if (operation !== "update") return undefined;
      return ["snapshot", ...tables.map((table) => this.#table(table)), ...types.map((type) => `${type}?`)].join(" ");
    }
    const what = operation === "update" ? tables.map((table) => this.#table(table)) : types;
    return [operation, round - this.#firstRound, ...what].join(" ");
  }

  #show(effect: Effect): string[] {
    switch (effect.kind) {
      case "send": {
        const message = this.#message(effect.message);
        return message === undefined ? [] : [`${message} → ${effect.streams}`];
      }
      case "close":
        return [`close ${effect.stream} ${effect.code}`];
      case "save":
        return [`save ${effect.host.incarnation} ${effect.types}`];
      case "drop":
        return [`drop ${effect.incarnation}`];
      case "began":
        return [];
      case "settled":
        return [`settled ${effect.type}`];
      case "sticky":
        return [`${effect.event} ${effect.count} ${effect.type}`];
      case "host":
        return [`${effect.host.incarnation} ${effect.event}`];
    }
  }

  phase(type: string): string | undefined {
    return this.controller.view().types.find((controller) => controller.type === type)?.phase;
  }

  held(incarnation: string): string {
    return [...(this.controller.view().hosts.find((host) => host.incarnation === incarnation)?.held ?? [])]
      .sort()
      .join();
  }
}

export const memberOf = (incarnation: string, ...types: string[]): KnownMember => ({
  incarnation,
  address: `${incarnation}:1`,
  types,
  machine: "m",
  pid: 7,
});
export const unlocked = (type: string, number: number, term = 1): { unlocked: Map<string, TableVersion> } => ({
  unlocked: new Map([[type, { term, number }]]),
});
