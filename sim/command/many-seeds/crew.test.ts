import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { perform } from "../perform.ts";
import { SMALL_PLAN } from "../small-plan.ts";
import { Crew, type CrewOptions } from "./crew.ts";

const job = { seed: 1, plan: SMALL_PLAN };
/** No run can start with this plan, so its worker ends. */
const deadly = { seed: 2, plan: { ...SMALL_PLAN, faults: [{ at: 0, fault: "no such fault" }] } };

async function withCrew<T>(options: CrewOptions, use: (crew: Crew) => Promise<T>): Promise<T> {
  const crew = new Crew(options);
  try {
    return await use(crew);
  } finally {
    crew.close();
  }
}

describe("the worker processes", () => {
  it("a worker process reports the same as this process", async () => {
    const reports = await withCrew({ jobs: 2 }, (crew) => Promise.all([1, 2, 3].map(() => crew.perform(job))));
    const own = await perform(job);
    for (const report of reports) assert.deepEqual(report, own);
  });

  it("a job whose worker ended has failed, and another worker continues", async () => {
    await withCrew({ jobs: 1 }, async (crew) => {
      const [ended, next] = await Promise.all([crew.perform(deadly), crew.perform(job)]);
      assert.equal(ended.seed, deadly.seed);
      assert.deepEqual(
        ended.violations.map(({ checker }) => checker),
        ["no exception"],
      );
      assert.match(ended.violations[0]!.what, /the process that ran it ended with 1/);
      assert.deepEqual(next.violations, []);
    });
  });

  it("a job that takes too long is stopped, and reported apart from violations", async () => {
    const { violations, overran } = await withCrew({ jobs: 1, mostMs: 1 }, (crew) => crew.perform(job));
    assert.deepEqual(violations, []);
    assert.match(overran!, /did not end within 0.001 s of real time/);
  });

  it("a worker process puts a bug back", async () => {
    const { violations } = await withCrew({ jobs: 1, bug: "no such bug" }, (crew) => crew.perform(job));
    assert.match(violations[0]!.what, /the process that ran it ended/);
    assert.deepEqual((await withCrew({ jobs: 1, bug: "timer-not-armed" }, (crew) => crew.perform(job))).seed, 1);
  });
});
