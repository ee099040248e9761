// A run in coarse form: faults, starts and ends of hosts, leaders, answers and violations. Times are rounded
// to a tenth of a second and errors reduced to their codes, so that small changes of the program do not
// change a story.
import type { StoryLine } from "../../src/world/story.ts";
import type { Operation } from "../observer.ts";
import type { Stage } from "../stage.ts";

/** Log events of hosts that are part of a coarse story, with the fields that it shows. */
const EVENTS: Readonly<Record<string, readonly string[]>> = {
  "leader.elected": ["term"],
  "leader.stepped-down": ["term", "why"],
  "host.joined": ["name"],
  "host.returned": ["name"],
  "host.suspect": ["name"],
  "host.evicted": ["name"],
  "host.removed": ["name", "why"],
  "lease.lost": [],
  "membership.removed": ["why"],
  "everything is healed": [],
};

export class CoarseStory {
  readonly lines: string[] = [];
  readonly #stage: Stage;
  readonly #broken = new Set<string>();
  /** The end of a run stops every host, much the same in every story. */
  #isEnd = false;

  constructor(stage: Stage) {
    this.#stage = stage;
    stage.observers.push({
      started: ({ name }) => this.#add(name, "starts"),
      gone: ({ name }) => this.#gone(name),
      logged: (line) => this.#logged(line),
      answered: (operation) => this.#answered(operation),
    });
  }

  #add(who: string, what: string): void {
    const seconds = `${(this.#stage.now / 1_000).toFixed(1)}s`.padStart(7);
    this.lines.push(`${seconds} ${who.padEnd(8)} ${what}`.trimEnd());
  }

  #gone(name: string): void {
    if (this.#stage.isChaos) this.#add(name, "is gone");
    else this.#end();
  }

  #end(): void {
    if (this.#isEnd) return;
    this.#add("", "all hosts stop");
    this.#isEnd = true;
  }

  #logged({ who, event, fields }: StoryLine): void {
    // The details of a violation contain numbers that change; the rule does not.
    const [violation] = /^VIOLATION of [^:]+/.exec(event) ?? [];
    if (violation !== undefined && !this.#broken.has(violation)) {
      this.#broken.add(violation);
      this.#add(who, violation);
    }
    if (!this.#stage.isChaos && fields?.why === "it said goodbye") this.#end();
    const names = event.startsWith("⚡") ? Object.keys(fields ?? {}) : EVENTS[event];
    if (names === undefined || this.#isEnd) return;
    const shown = names.filter((name) => fields?.[name] !== undefined && fields[name] !== "");
    this.#add(who, [event, ...shown.map((name) => `${name}=${coarse(fields?.[name])}`)].join(" "));
  }

  #answered({ call: { from, method, type, id, at }, beganAt, outcome }: Operation): void {
    // Only calls of the plan, not those of the healing phase.
    if (outcome === undefined || !this.#stage.plan.calls.some((call) => call.at === at && call.from === from)) return;
    const result = "error" in outcome ? failure(outcome.error) : coarse(outcome.value);
    const since = beganAt < this.#stage.now - 50 ? ` (asked at ${(beganAt / 1_000).toFixed(1)}s)` : "";
    this.#add(from, `${method} ${type}/${id} → ${result}${since}`);
  }
}

function failure(error: unknown): string {
  const { code, name, message } = error as { code?: string; name?: string; message?: string };
  return code ?? `${name}: ${message}`;
}

function coarse(value: unknown): string {
  if (typeof value === "number") return String(Math.round(value));
  if (Array.isArray(value)) return `[${value.map(coarse).join(", ")}]`;
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}
