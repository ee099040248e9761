// Words that actors append: the token of an operation; for a call that the actor makes itself, the token with
// `>` and the id appended; for a tick of a reminder, the token with `!` and the number. Words of workflows
// end with `~`.
import type { Operation } from "../../observer.ts";
import { isTickWord, setterOf } from "../../reminding.ts";
import { isScriptWord } from "../../scripts.ts";
import type { Stage } from "../../stage.ts";
import { rowsOf } from "../reminders/reminder-rows.ts";

interface Named {
  readonly type: string;
  readonly id: string;
}

const known = new WeakMap<Stage, Map<string, Operation>>();

/** The operation of a word. */
export function operationOf(stage: Stage, word: string): Operation | undefined {
  const cut = word.search(/[>!]/);
  const token = cut < 0 ? word : word.slice(0, cut);
  let byToken = known.get(stage);
  if (byToken === undefined) {
    byToken = new Map();
    known.set(stage, byToken);
  }
  const found = byToken.get(token);
  if (found !== undefined) return found;
  for (let i = byToken.size; i < stage.operations.length; i++) {
    const operation = stage.operations[i]!;
    byToken.set(operation.token, operation);
  }
  return byToken.get(token);
}

export const isOnTheWay = (word: string): boolean => word.includes(">");

/** How often an actor was called with this word. */
export function mostRuns(stage: Stage, word: string, { type, id }: Named): number {
  // A workflow calls an actor at least once, like an activity.
  if (isScriptWord(word)) return Number.POSITIVE_INFINITY;
  const operation = operationOf(stage, word);
  if (operation === undefined) return 0;
  const { call } = operation;
  // A tick is delivered at least once, and the changes of its handler are stored once.
  if (isTickWord(word)) return call.type === type && call.id === id ? rowsOf(stage).setBy(setterOf(word)).length : 0;
  if (!isOnTheWay(word)) return call.type === type && call.id === id ? 1 : 0;
  return (call.how.via ?? []).filter((via) => via.type === type && via.id === id).length;
}
