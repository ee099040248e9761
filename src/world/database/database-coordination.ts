// Coordination at a virtual database, as one process sees it: every request is subject to the database's
// faults.
import type { Candidate, Coordination, ElectionResult, Member, MemberChange } from "../../ports/store/coordination.ts";
import type { Station } from "../network/network.ts";
import type { Ask, Database, Question } from "./database.ts";

export class CoordinationClient implements Coordination {
  readonly #database: Database;
  readonly #station: Station;
  readonly #askStore: Ask;

  constructor(database: Database, station: Station, ask: Ask) {
    this.#database = database;
    this.#station = station;
    this.#askStore = ask;
  }

  async #ask<T>(question: Question, work: (truth: Coordination) => Promise<T>): Promise<T> {
    return this.#askStore(question, () => work(this.#database.truth.coordination));
  }

  async campaign(candidate: Candidate, dead: readonly string[] = []): Promise<ElectionResult> {
    return this.#ask("campaign", async (truth) => {
      const standing = await truth.campaign(candidate, dead);
      for (const watcher of this.#database.watchers) watcher.campaigned?.(this.#station, candidate, standing);
      return standing;
    });
  }

  async resign(incarnation: string): Promise<void> {
    return this.#ask("resign", (truth) => truth.resign(incarnation));
  }

  async members(): Promise<Member[]> {
    return this.#ask("members", (truth) => truth.members());
  }

  async persist(term: number, changes: readonly MemberChange[]): Promise<boolean> {
    return this.#ask("note", (truth) => truth.persist(term, changes));
  }

  async secret(offer: string): Promise<string> {
    return this.#ask("members", (truth) => truth.secret(offer));
  }

  async leave(incarnations: readonly string[]): Promise<void> {
    return this.#ask("note", async (truth) => {
      await truth.leave(incarnations);
      for (const watcher of this.#database.watchers) watcher.left?.(this.#station, incarnations);
    });
  }
}
