// The state of one activation: the tree in memory, the changes of the running turn, and the way to store it.
//
// A small state is written whole at each commit. A large one is written whole once. After that a commit
// appends its changes, until the appended text is as long as the whole. So the cost of a turn depends on its
// changes, and reading the state costs at most twice its size.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { copyValue, decodeValue, encodeValue, hasTags, unwrap } from "../../kernel/values.ts";
import type { StateWrite, StoredState } from "../../ports/store/store.ts";
import { ArrayNode } from "./array-draft.ts";
import { applyChanges, encodeChanges } from "./changes.ts";
import { MapNode, SetNode } from "./collection-draft.ts";
import { draftOf } from "./draft.ts";
import { ChangeJournal, type Container, type Node } from "./journal.ts";
import { ObjectNode } from "./object-draft.ts";

/** The cost of an appended change beyond its text: a row and its key. */
const CHANGE_OVERHEAD = 64;

export class StateBuffer {
  #root: object;
  /** Length of the stored whole, and of the changes appended since. Zero: no state is stored. */
  #whole = 0;
  #appended = 0;
  /** Bytes of both: the limit is in bytes. */
  #bytes = 0;
  /** The stored whole had no tags, so the tree is plain JSON unless this turn changed that. */
  #plain = false;
  #journal: ChangeJournal | undefined;
  /** The turn cleared the stored state, and has not changed the fresh one. */
  #cleared = false;
  #prepared: StateWrite | undefined;

  constructor(stored: StoredState | undefined, initial: () => object) {
    if (stored === undefined) {
      this.#root = freshState(initial);
      return;
    }
    this.#root = readBack(stored);
    this.#whole = stored.whole.length;
    this.#plain = stored.changes.length === 0 && !hasTags(stored.whole);
    this.#bytes = bytesOf(stored.whole);
    for (const change of stored.changes) {
      this.#appended += change.length + CHANGE_OVERHEAD;
      this.#bytes += bytesOf(change);
    }
  }

  /** The state as user code sees it in the running turn. */
  get draft(): object {
    this.#journal ??= new ChangeJournal(newNode, this.#small);
    return draftOf(this.#journal, this.#root, undefined, undefined);
  }

  /** Replaces the whole state. */
  replace(value: unknown): void {
    const next = unwrap(value);
    if (typeof next !== "object" || next === null) {
      throw new LimpetError("STATE_INVALID", `state must be an object; got ${next === null ? "null" : typeof next}`);
    }
    if (next === this.#root) return;
    this.#exchange(next, false);
  }

  /** Removes the stored state; the turn goes on with a fresh one. */
  clear(initial: () => object): void {
    this.#exchange(freshState(initial), true);
  }

  #exchange(next: object, cleared: boolean): void {
    this.#journal ??= new ChangeJournal(newNode, this.#small);
    const journal = this.#journal;
    journal.assertOpen();
    const [root, wasCleared, wasDirty] = [this.#root, this.#cleared, journal.dirty];
    journal.record(() => {
      this.#root = root;
      this.#cleared = wasCleared;
      journal.dirty = wasDirty;
    });
    journal.replaceRoot();
    journal.attached = true;
    journal.dirty = false;
    this.#root = next;
    this.#cleared = cleared;
  }

  /** Small enough to be written whole at each commit. */
  get #small(): boolean {
    return this.#whole <= LIMITS.inlineStateBytes;
  }

  savepoint(): number {
    return this.#journal?.savepoint() ?? 0;
  }

  /** Undoes the changes since `savepoint`, within the turn. False: not everything could be restored. */
  rollback(savepoint: number): boolean {
    return this.#journal?.rollback(savepoint) ?? true;
  }

  /** Undoes the whole turn and ends it. False: the state must be read from the store again. */
  abandon(): boolean {
    const restored = this.rollback(0);
    this.#end();
    return restored;
  }

  /** Ends the turn: returns the write, or `undefined` when nothing changed. */
  prepare(): StateWrite | undefined {
    const journal = this.#journal;
    if (journal === undefined) return undefined;
    journal.settle();
    // A promise that was not awaited may still hold a draft, and would change the state during the write.
    journal.closed = true;
    if (!journal.dirty && !journal.replaced) {
      this.#end();
      return undefined;
    }
    this.#prepared = this.#cleared && !journal.dirty ? { kind: "clear" } : this.#describe(journal);
    return this.#prepared;
  }

  #describe(journal: ChangeJournal): StateWrite {
    if (!this.#small) {
      const data = encodeChanges(journal);
      // Near the limit the state is written whole, because the growth by one change is not known.
      const isShort = data !== undefined && this.#appended + data.length + CHANGE_OVERHEAD <= this.#whole;
      if (isShort && this.#bytes + bytesOf(data) <= LIMITS.stateBytes) return { kind: "change", data };
    }
    // No value came from outside and none needs a tag, so JSON represents the state completely.
    const known = this.#plain && !journal.attached && !journal.special;
    const data = known ? JSON.stringify(this.#root) : encodeValue(this.#root, "state", "STATE_INVALID");
    const bytes = bytesOf(data);
    if (bytes > LIMITS.stateBytes) {
      throw new LimpetError("STATE_TOO_LARGE", `state is ${bytes} bytes; the limit is ${LIMITS.stateBytes}`);
    }
    return { kind: "whole", data };
  }

  /** The prepared write is durable. */
  committed(): void {
    const write = this.#prepared;
    if (write?.kind === "change") {
      this.#plain = false;
      this.#appended += write.data.length + CHANGE_OVERHEAD;
      this.#bytes += bytesOf(write.data);
    } else if (write !== undefined) {
      this.#whole = write.kind === "whole" ? write.data.length : 0;
      this.#bytes = write.kind === "whole" ? bytesOf(write.data) : 0;
      this.#appended = 0;
      this.#plain = write.kind === "whole" && !hasTags(write.data);
      // Objects put into the state in this turn must not stay shared with the code that put them there.
      if (write.kind === "whole" && this.#journal?.attached) this.#root = decodeValue(write.data) as object;
    }
    this.#end(true);
  }

  #end(committed = false): void {
    this.#journal?.close(committed);
    this.#journal = undefined;
    this.#prepared = undefined;
    this.#cleared = false;
  }
}

/** A text far below the limit in any encoding is not counted byte by byte. */
const bytesOf = (text: string): number =>
  text.length * 3 <= LIMITS.inlineStateBytes ? text.length : Buffer.byteLength(text);

function readBack({ whole, changes }: StoredState): object {
  try {
    const root = decodeValue(whole) as object;
    for (const change of changes) applyChanges(root, change);
    return root;
  } catch (cause) {
    throw new LimpetError("STATE_INVALID", "the stored state cannot be read: the row was damaged or edited", { cause });
  }
}

function freshState(initial: () => object): object {
  const state: unknown = initial();
  if (typeof state !== "object" || state === null) {
    throw new LimpetError(
      "STATE_INVALID",
      `initial() must return an object; got ${state === null ? "null" : typeof state}`,
    );
  }
  return copyValue(state, "initial()", "STATE_INVALID");
}

/** The draft that fits a container. */
function newNode(journal: ChangeJournal, raw: Container, parent: Node | undefined, key: unknown): Node {
  if (Array.isArray(raw)) return new ArrayNode(journal, raw, parent, key);
  if (raw instanceof Map) return new MapNode(journal, raw, parent, key);
  if (raw instanceof Set) return new SetNode(journal, raw, parent, key);
  return new ObjectNode(journal, raw, parent, key);
}
