// The ports that the steps of a claimed reminder share.
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { Reminders } from "../ports/store/reminders.ts";
import type { ReminderInstruments } from "./metrics.ts";
import type { StoreClock } from "./store-clock.ts";

export interface ReminderPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Reminders;
  readonly storeClock: StoreClock;
  readonly instruments: ReminderInstruments;
}
