// Determines whether the cluster has been free of faults for a while: some rules hold only then.
import type { StoryLine } from "../../src/world/story.ts";
import type { Observer } from "../observer.ts";
import type { Stage } from "../stage.ts";
import { every, troubleEnds } from "./looks.ts";

const LOOK_MS = 250;
/** All hosts are up and ready for this long: longer than any interval between retries. */
const WELL_MS = 3_000;
/**
 * No fault occurred for this long: by then every silent connection is detected, which takes ten seconds, and
 * every store request has ended.
 */
const CALM_MS = 12_000;

export class Calm {
  readonly #stage: Stage;
  #wellSince = 0;
  #faultAt = Number.NEGATIVE_INFINITY;
  /** Hooks for the observer that uses this. */
  readonly hooks: Observer;

  constructor(stage: Stage) {
    this.#stage = stage;
    const troubled = (): void => this.#troubled();
    const logged = (line: StoryLine): void => this.#logged(line);
    const stepped = every(stage, LOOK_MS, () => this.#look());
    this.hooks = { started: troubled, gone: troubled, slept: troubled, logged, stepped };
  }

  /** `forMs`: the cluster was calm already this much earlier. */
  isCalm(forMs = 0): boolean {
    const { now } = this.#stage;
    return now - this.#wellSince >= WELL_MS + forMs && now - this.#faultAt >= CALM_MS + forMs;
  }

  /** A host was down, asleep or not ready. */
  #troubled(): void {
    this.#wellSince = this.#stage.now;
  }

  #logged(line: StoryLine): void {
    if (line.level === "warn") this.#troubled();
    this.#faultAt = Math.max(this.#faultAt, troubleEnds(line) ?? this.#faultAt);
  }

  #look(): void {
    const { isDown, isReadOnly, failsBefore, failsAfter, slow, holds } = this.#stage.world.database.troubles;
    if (isDown || isReadOnly || failsBefore + failsAfter + slow + holds > 0) this.#troubled();
    const isReady = ({ host }: Stage["players"][number]): boolean =>
      host.process?.isAwake === true && host.process.app?.host.status().ready === true;
    if (!this.#stage.players.every(isReady)) this.#troubled();
  }
}
