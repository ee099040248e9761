// Begins the drafts of a turn: a journal that knows which draft fits which container.
import { ArrayNode } from "./array-draft.ts";
import { MapNode, SetNode } from "./collection-draft.ts";
import type { Container, Node } from "./journal.ts";
import { Journal } from "./journal.ts";
import { ObjectNode } from "./object-draft.ts";

export function openJournal(coarse: boolean): Journal {
  return new Journal(newNode, coarse);
}

function newNode(journal: Journal, raw: Container, parent: Node | undefined, key: unknown): Node {
  if (Array.isArray(raw)) return new ArrayNode(journal, raw, parent, key);
  if (raw instanceof Map) return new MapNode(journal, raw, parent, key);
  if (raw instanceof Set) return new SetNode(journal, raw, parent, key);
  return new ObjectNode(journal, raw, parent, key);
}
