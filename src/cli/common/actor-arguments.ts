// The arguments <type> <id> of the commands about one actor.
import { checkId, checkType } from "../../kernel/names.ts";
import type { Argument, Context } from "./command.ts";
import { asUsage } from "./failure.ts";

export const ACTOR_ARGUMENTS: readonly Argument[] = [
  { name: "type", help: "The actor's type, such as Cart." },
  { name: "id", help: "The actor's id." },
];

/** The actor that the command line names. Invalid names are usage errors. */
export function actorOf({ args }: Context): { readonly type: string; readonly id: string } {
  const [type, id] = args as [string, string];
  asUsage(() => {
    checkType(type);
    checkId(id);
  });
  return { type, id };
}
