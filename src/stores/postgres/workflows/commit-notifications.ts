// Collects the notifications of a transaction until it is committed: namespaces with possible work for other
// processes, and reminders that were written.
import type { ReminderWrite } from "../../../ports/store/reminders.ts";
import type { Runner } from "../connection/connections.ts";
import { ReminderWrites } from "../reminders/writes.ts";

export interface NotificationSender {
  readonly announce: (namespace: string) => void;
  readonly wrote: (writes: readonly ReminderWrite[], now: number) => void;
}

/** Within a transaction no statement is retried: the whole transaction is. */
const NEVER = -1;

export class CommitNotifications {
  readonly #sender: NotificationSender;
  readonly #namespaces = new Set<string>();
  readonly #wrote: { writes: readonly ReminderWrite[]; now: number }[] = [];

  constructor(sender: NotificationSender) {
    this.#sender = sender;
  }

  /** Other processes may claim a task in the namespace, or wait for the end of a run there. */
  add(namespace: string): void {
    this.#namespaces.add(namespace);
  }

  async remind(runner: Runner, schema: string, writes: readonly ReminderWrite[]): Promise<void> {
    for (const round of roundsOf(writes, nameOf)) {
      const { now, outcomes } = await new ReminderWrites(runner, schema, NEVER).write(round);
      this.#wrote.push({ writes: round.filter((_, i) => outcomes[i]?.kind === "set"), now });
    }
  }

  send(): void {
    for (const { writes, now } of this.#wrote) this.#sender.wrote(writes, now);
    for (const namespace of this.#namespaces) this.#sender.announce(namespace);
  }
}

const nameOf = ({ key: { namespace, type, id, name } }: ReminderWrite): string =>
  JSON.stringify([namespace, type, id, name]);

/**
 * Items with the same name run one after the other. That is rare, so there is nearly always one round, or
 * none.
 */
export function roundsOf<T>(items: readonly T[], nameOf: (item: T) => string): T[][] {
  const rounds: T[][] = [];
  const counts = new Map<string, number>();
  for (const item of items) {
    const name = nameOf(item);
    const round = counts.get(name) ?? 0;
    counts.set(name, round + 1);
    if (rounds.length === round) rounds.push([]);
    rounds[round]!.push(item);
  }
  return rounds;
}
