// Common fields of all polls: the worker, its queue and the time limit.
import type { Poll } from "../service.ts";
import type { ApiCall } from "./api-call.ts";
import { LONG_POLL_SECONDS, MOST_POLL_SECONDS } from "./cluster-info.ts";
import { optionalText, optionalWhole, text } from "./fields.ts";

export function parsePoll({ fields, gone }: ApiCall): Poll {
  const seconds = optionalWhole(fields, "timeout_seconds", 0, MOST_POLL_SECONDS) ?? LONG_POLL_SECONDS;
  return {
    workerId: text(fields, "worker_id"),
    queue: text(fields, "task_queue"),
    build: optionalText(fields, "build_id"),
    requestId: optionalText(fields, "poll_request_id"),
    waitMs: seconds * 1_000,
    gone,
  };
}
