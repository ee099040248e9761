// The watchers of the list of schedulers: clients with configured schedulers, which look for the leader. An
// unchanged list is not sent again.
import type { SchedulerList } from "../../ports/cluster/control-service.ts";
import type { ElectionResult } from "../../ports/store/coordination.ts";

export class SchedulerWatchers {
  /** Watchers, each with the last list it received, as text. */
  readonly #watchers = new Map<(list: SchedulerList) => void, string>();

  /** The returned function ends it. */
  watch(result: ElectionResult | undefined, listener: (list: SchedulerList) => void): () => void {
    const list = listOf(result);
    this.#watchers.set(listener, JSON.stringify(list));
    listener(list);
    return () => this.#watchers.delete(listener);
  }

  notify(result: ElectionResult | undefined): void {
    if (this.#watchers.size === 0) return;
    const list = listOf(result);
    const text = JSON.stringify(list);
    for (const [watcher, before] of [...this.#watchers]) {
      if (before === text) continue;
      this.#watchers.set(watcher, text);
      watcher(list);
    }
  }
}

function listOf(result: ElectionResult | undefined): SchedulerList {
  const hosts = (result?.schedulers ?? [])
    .filter(({ address }) => address !== "")
    .map(({ address, leader, dedicated, incarnation }) => ({ address, leader, dedicated, incarnation }));
  // Sorted, so that two lists of the same schedulers are equal.
  hosts.sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
  return { term: result?.term ?? 0, hosts };
}
