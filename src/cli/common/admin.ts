// Sends requests of operators (ports/admin.ts) to a running process: the HTTP path and body of each kind.
// Lists and raw values have their own paths, in listing.ts and the commands.
import type { AdminAnswer, AdminRequest } from "../../ports/admin.ts";
import type { ShardSteering } from "../../ports/shard-admin.ts";
import { ask, type HttpQuestion, parseAnswer } from "./ask.ts";
import type { Target } from "./target.ts";

type RequestOf<Kind> = Extract<AdminRequest, { kind: Kind }>;

const get = (...path: readonly string[]): HttpQuestion => ({ verb: "GET", path: pathOf("inspect", path) });

const post = (path: readonly string[], body: object): HttpQuestion => {
  return { verb: "POST", path: pathOf("control", path), body: JSON.stringify(body) };
};

const pathOf = (area: string, path: readonly string[]): string =>
  `/v1.0/${[area, ...path.map(encodeURIComponent)].join("/")}`;

const QUESTIONS = {
  explain: ({ type, id }: RequestOf<"explain">) => get("actors", type, id),
  cluster: () => get("cluster"),
  where: ({ type, id }: RequestOf<"where">) => get("where", type, id),
  holder: ({ type, id }: RequestOf<"holder">) => get("sticky", type, id),
  shards: ({ type }: RequestOf<"shards">) => get("shards", type),
  reminderCounts: () => get("reminders", "counts"),
  workflowCounts: () => get("workflows", "counts"),
  workers: () => get("workflows", "workers"),
  workflow: ({ run: { workflowId, runId }, steps }: RequestOf<"workflow">) => {
    const query = new URLSearchParams({ steps: String(steps), ...(runId !== undefined && { run: runId }) });
    return { verb: "GET" as const, path: `${pathOf("inspect", ["workflow", workflowId])}?${query}` };
  },
  drain: ({ host }: RequestOf<"drain">) => post(["drain"], { host }),
  release: ({ type, id }: RequestOf<"release">) => post(["release"], { type, id }),
  steerShards: ({ type, steering }: RequestOf<"steerShards">) => {
    const [act, fields] = steeringBody(steering);
    return post(["shards", act], { type, ...fields });
  },
};

function steeringBody(steering: ShardSteering): readonly [act: string, fields: object] {
  switch (steering.kind) {
    case "move":
      return ["move", { shard: steering.shard, host: steering.host }];
    case "pause":
      return [steering.paused ? "pause" : "resume", {}];
    case "allocate":
      return [
        "allocate",
        { places: Object.fromEntries(steering.places.map(({ shard, host }) => [shard, host ?? null])) },
      ];
  }
}

/** Rejects with the failure of the process, as `ask` does. */
export async function askAdmin<R extends RequestOf<keyof typeof QUESTIONS>>(
  target: Target,
  request: R,
): Promise<AdminAnswer<R>> {
  const write = QUESTIONS[request.kind] as (request: R) => HttpQuestion;
  const question = write(request);
  const text = await ask(target, question);
  // Requests that change state have an empty answer.
  return (question.verb === "POST" ? undefined : parseAnswer(target, text)) as AdminAnswer<R>;
}
