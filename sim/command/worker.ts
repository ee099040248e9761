// A worker process: does one job after the other for whoever started it, and ends with it.
import type { Job } from "./job.ts";
import { perform } from "./perform.ts";

process.on("disconnect", () => process.exit());
process.on("message", (job) => {
  // What goes wrong in a run is in its report. Anything else is the end of this process, and that is seen too.
  void perform(job as Job).then((report) => process.send!(report));
});
