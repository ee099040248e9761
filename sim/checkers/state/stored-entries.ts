// Contents of the store, decoded as the actors of the application read them.
import { StateBuffer } from "../../../src/actors/state/state-buffer.ts";
import type { StateWrite, StoredState } from "../../../src/ports/store/store.ts";

export function entriesOf(stored: StoredState | undefined): readonly string[] {
  if (stored === undefined) return [];
  return [...(new StateBuffer(stored, () => ({ entries: [] })).draft as { entries: string[] }).entries];
}

/** One row, followed from commit to commit. A cleared state begins a new generation. */
export class Row {
  #whole: string | undefined;
  #changes: string[] = [];
  readonly #past: string[][] = [];

  write(write: StateWrite): void {
    if (write.kind === "keep") return;
    if (write.kind === "change") {
      this.#changes.push(write.data);
      return;
    }
    if (write.kind === "clear") this.#past.push([...this.#now()]);
    this.#whole = write.kind === "whole" ? write.data : undefined;
    this.#changes = [];
  }

  #now(): readonly string[] {
    return entriesOf(this.#whole === undefined ? undefined : { whole: this.#whole, changes: this.#changes });
  }

  /** The contents before each clear, and the current contents. */
  generations(): readonly (readonly string[])[] {
    return [...this.#past, this.#now()];
  }
}
