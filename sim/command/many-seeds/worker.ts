// A worker process: runs one job after the other for its parent, and ends with it.
import type { Job } from "../job.ts";
import { perform } from "../perform.ts";

process.on("disconnect", () => process.exit());
process.on("message", (job) => {
  // Failures of a run are in its report. Any other error ends this process, and its parent detects that.
  void perform(job as Job).then((report) => process.send!(report));
});
