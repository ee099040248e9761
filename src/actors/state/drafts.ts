// Begins the drafts of a turn: a journal that knows which draft fits which container.
import { ArrayNode } from "./array-draft.ts";
import { MapNode, SetNode } from "./collection-draft.ts";
import type { Container, Node } from "./journal.ts";
import { ChangeJournal } from "./journal.ts";
import { ObjectNode } from "./object-draft.ts";

export function openJournal(coarse: boolean): ChangeJournal {
  return new ChangeJournal(newNode, coarse);
}

function newNode(journal: ChangeJournal, raw: Container, parent: Node | undefined, key: unknown): Node {
  if (Array.isArray(raw)) return new ArrayNode(journal, raw, parent, key);
  if (raw instanceof Map) return new MapNode(journal, raw, parent, key);
  if (raw instanceof Set) return new SetNode(journal, raw, parent, key);
  return new ObjectNode(journal, raw, parent, key);
}
