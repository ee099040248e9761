// Tracks the takes of one process, so that the fence of an actor's row also holds after the store was
// restored from a backup.
//
// A restore forgets rows and epochs, and the store assigns the same refs again. A process that kept running
// may then hold the ref of a row that belongs to another actor by now. Ref, epoch and version must therefore
// never fit a row that this process did not take:
// - The epoch of a take is at least the store's clock in milliseconds, so it is above every epoch from before
//   the restore.
// - A clock may be set back. So each take also names a *floor*, above every epoch that this process has
//   received. No two takes of one process get the same epoch.
// - A commit changes a row only if one of this process's own incarnations took it last. No other process's
//   take can fit.
//
// There is one object per open store. It is never restored with the store.

/**
 * Incarnations a process remembers. It gets a new one when it loses its lease, and then nothing of the older
 * ones counts.
 */
const MOST_OWNERS = 1_000;

export class OwnTakes {
  #highest = 0;
  #owners = new Set<string>();
  #list: readonly string[] = [];

  /** The least epoch of the next take; each call returns another one. */
  nextFloor(): number {
    this.#highest++;
    return this.#highest;
  }

  received(epoch: number): void {
    if (epoch > this.#highest) this.#highest = epoch;
  }

  add(owner: string): void {
    if (this.#owners.has(owner)) return;
    this.#owners.add(owner);
    if (this.#owners.size > MOST_OWNERS) this.#owners.delete(this.#owners.values().next().value!);
    this.#list = [...this.#owners];
  }

  has(owner: string): boolean {
    return this.#owners.has(owner);
  }

  /** Oldest first. */
  get owners(): readonly string[] {
    return this.#list;
  }
}
