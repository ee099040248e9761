// Checks that a failed start leaves nothing behind, also when its process continues: no lease, no timer, and
// no connection that still sends.
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";

/** Allows for messages that were in flight when the start failed. */
const ON_ITS_WAY_MS = 1_000;

export const failedStarts: CheckerKind = {
  name: "failed starts",
  rule: "a process that failed to start sends nothing more, neither to the database nor to other processes",
  make(stage, report) {
    const failed = new Map<Process, number>();
    function check(station: unknown, what: string): void {
      const process = station as Process;
      const at = failed.get(process);
      if (at === undefined || stage.now < at + ON_ITS_WAY_MS) return;
      failed.delete(process);
      report(`process ${process.number} ${what} ${Math.round(stage.now - at)} ms after its start has failed`);
    }
    stage.world.database.watchers.push({ asks: (station, question) => check(station, `asks for "${question}"`) });
    return {
      startFailed(_host, process) {
        failed.set(process, stage.now);
        stage.reach("start failed");
      },
      sent: (process) => check(process, "sends a message"),
    };
  },
};
