// Leases of one process of a test. A crash releases them, so that a test need not wait for their end: other
// processes see them as expired.
import type { Reminders, Settlement } from "../ports/store/reminders.ts";
import type { Store } from "../ports/store/store.ts";
import type { Workflows } from "../ports/store/workflows.ts";

export class ProcessLeases {
  readonly #tasks = new Map<number, string>();
  readonly #reminders = new Map<number, string>();
  readonly #workers = new Map<string, string>();

  task(ref: number, token: string): void {
    this.#tasks.set(ref, token);
  }

  taskOver(ref: number): void {
    this.#tasks.delete(ref);
  }

  reminder(generation: number | undefined, token: string): void {
    if (generation !== undefined) this.#reminders.set(generation, token);
  }

  settled(settlements: readonly Settlement[]): void {
    for (const settlement of settlements) {
      const stays = settlement.kind === "next" && settlement.leaseMs !== undefined;
      if (!stays) this.#reminders.delete(settlement.generation);
    }
  }

  worker(worker: string, namespace: string): void {
    this.#workers.set(worker, namespace);
  }

  async giveBack({ workflows, reminders }: Pick<Store, "workflows" | "reminders">): Promise<void> {
    await this.#giveBackTasks(workflows);
    await this.#giveBackReminders(reminders);
    for (const [worker, namespace] of this.#workers) await workflows.forgetWorker(namespace, worker);
  }

  async #giveBackTasks(workflows: Workflows): Promise<void> {
    const returns = [...this.#tasks].map(([ref, token]) => ({ ref, token, pauseMs: 0, problem: undefined }));
    if (returns.length > 0) await workflows.giveBack(returns);
  }

  async #giveBackReminders(reminders: Reminders): Promise<void> {
    const releases = [...this.#reminders].map(
      ([generation, token]) => ({ generation, token, kind: "release" }) as const,
    );
    if (releases.length > 0) await reminders.settle(releases);
  }
}
