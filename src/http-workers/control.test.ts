// The answer over HTTP to a request that the store did not answer at first.
import assert from "node:assert/strict";
import { it } from "node:test";
import { LimpetError } from "../kernel/errors.ts";
import type { StartOutcome } from "../ports/store/workflows.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { CommandDispatcher } from "../workflows/worker/command-dispatcher.ts";
import { RemoteControl, type RemoteControlDeps, type StartRequest } from "./control.ts";

const REQUEST: StartRequest = {
  workflowId: "x",
  type: "order",
  queue: "default",
  input: null,
  memo: undefined,
  attributes: undefined,
  onDuplicate: "fail",
  timeoutMs: undefined,
  runTimeoutMs: undefined,
  build: undefined,
};

function control(outcome: Pick<StartOutcome, "isNew" | "isAmbiguous">, find?: () => Promise<never>): RemoteControl {
  const { workflows } = new MemoryStore();
  const dispatcher = new CommandDispatcher({
    namespace: "default",
    queue: "default",
    writer: {} as never,
    hasType: () => true,
  });
  const world: Partial<RemoteControlDeps> = {
    random: { number: () => 0.5, id: () => "run-1" },
    namespace: "default",
    now: () => 0,
    dispatcherOf: () => dispatcher,
    store: find === undefined ? workflows : ({ find } as never),
    start: async ({ runId }) => ({ ref: 1, runId, status: "running", ...outcome }),
  };
  return new RemoteControl(world as RemoteControlDeps);
}

it("a duplicate start is rejected as certain only if every attempt at it was answered", async () => {
  await assert.rejects(control({ isNew: false }).start(REQUEST), { reason: "duplicate_not_allowed", retry: "never" });
  await assert.rejects(control({ isNew: false, isAmbiguous: true }).start(REQUEST), {
    code: "COMMIT_UNKNOWN",
    retry: "unknown",
  });
});

it("a start that was applied is not reported as untouched when its run cannot be read", async () => {
  const find = async (): Promise<never> => {
    throw new LimpetError("STORE_UNAVAILABLE", "not now");
  };
  await assert.rejects(control({ isNew: true }, find).start(REQUEST), { code: "COMMIT_UNKNOWN", retry: "unknown" });
});
