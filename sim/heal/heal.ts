// Healing: all faults end, and within a bound every host must be ready, every type settled, and every actor
// must answer calls from every host. Then all hosts stop in an orderly way, and nothing of them may remain.

import { isLimpetError } from "../../src/kernel/errors.ts";
import { decodeValue } from "../../src/kernel/values.ts";
import type { StickyActor } from "../../src/ports/host-admin.ts";
import { KIND } from "../../src/world/timeline.ts";
import { PLAIN } from "../application.ts";
import { makeCall } from "../callers.ts";
import type { Checker } from "../checkers/checker.ts";
import { isHostOf } from "../checkers/looks.ts";
import { between } from "../faults/network/between.ts";
import type { Operation } from "../observer.ts";
import type { PlannedCall } from "../plan.ts";
import type { Carried } from "../reminding.ts";
import type { Player, Stage } from "../stage.ts";
import { demandReminders } from "./heal-reminders.ts";
import { demandRemembered, demandShards } from "./heal-shards.ts";
import { demandWorkflows } from "./heal-workflows.ts";

type Until = (ms: number, isDone?: () => boolean) => Promise<void>;

const PROBE_MS = 10_000;
const PAUSE_MS = 200;

export async function demand(stage: Stage, checkers: readonly Checker[], until: Until): Promise<void> {
  stage.heal();
  const healedAt = stage.now;
  const isReady = ({ host }: Player): boolean => host.isUp && host.app.host.status().ready;
  const allReady = (): boolean => stage.players.every(isReady);
  await until(stage.now + stage.boundMs, allReady);
  if (!allReady()) {
    const late = stage.players.filter((player) => !isReady(player));
    const why = late.map(({ host }) => `${host.name}: ${host.isUp ? host.app.host.status().problem : "not up"}`);
    stage.violation("progress", `not ready within ${stage.boundMs} ms of healing: ${why.join("; ")}`);
    return;
  }
  await settle(stage, until);
  if (stage.violations.length > 0) return;
  await demandRemembered(stage, until);
  await probe(stage, until);
  await answers(stage, until);
  // Requests from here on are sent once: a connection that broke unnoticed would lose them, and a process
  // that waits for a lost answer of the database would time them out.
  await until(Math.max(stage.world.database.answeredAt(healedAt), between(stage.world).noticedAt));
  await agreement(stage, until);
  await demandShards(stage, until);
  await demandReminders(stage, until);
  await demandWorkflows(stage, until);
  for (const checker of checkers) checker.healed?.();
  if (stage.violations.length > 0) return;
  await stopAll(stage, until);
  for (const checker of checkers) checker.over?.();
}

/** Every table must be in force, and equal on all hosts. */
async function settle(stage: Stage, until: Until): Promise<void> {
  const problem = await lastProblem(stage, until, () => tablesProblem(stage));
  if (problem !== "") stage.violation("progress", `tables do not settle: ${problem}`);
}

/** Repeats the check until it finds no problem, or the bound has passed. */
async function lastProblem(stage: Stage, until: Until, look: () => Promise<string>): Promise<string> {
  const deadline = stage.now + stage.boundMs;
  let problem = "nobody was asked";
  while (stage.now < deadline && problem !== "") {
    let asked: Promise<string> | undefined = look();
    void asked.then((found) => {
      problem = found;
      asked = undefined;
    });
    await until(stage.now + 1_000, () => asked === undefined);
    if (problem !== "") await until(stage.now + 200);
  }
  return problem;
}

async function tablesProblem(stage: Stage): Promise<string> {
  const [player] = stage.players;
  if (player === undefined) return "";
  try {
    const { tables, hosts } = await player.host.app.host.cluster();
    const unsettled = tables.filter(({ phase }) => phase !== "settled");
    if (unsettled.length > 0)
      return unsettled.map(({ type, phase, waitsFor }) => `${type} ${phase} ${waitsFor}`).join();
    const strange = hosts.filter(({ state }) => state !== "member");
    if (strange.length > 0) return strange.map(({ address, state }) => `${address} is ${state}`).join();
    // Types that were added again appear a moment later. A host sees only its own namespace.
    const mates = stage.players.filter(({ planned }) => planned.namespace === player.planned.namespace);
    const late = mates.filter(({ host, types }) => {
      const has = new Set(host.app.host.types().map(({ type }) => type));
      return !types.every((type) => has.has(type));
    });
    if (late.length > 0) return `${late.map(({ host }) => host.name)} has not all of its types yet`;
    // The leader assigns no types to a drained host.
    const missing = hosts.flatMap(({ namespace, address, types }) => {
      const own = tables.filter((table) => table.namespace === namespace && table.hosts.includes(address));
      const missed = types.filter((name) => !own.some(({ type }) => type === name));
      return missed.map((type) => `${address} is not in the table of ${type}`);
    });
    return missing.join();
  } catch (error) {
    return String(error);
  }
}

/** True if hanging or slow handlers may keep the actor busy all the time. */
async function isKeptBusy(stage: Stage, namespace: string, type: string, id: string): Promise<boolean> {
  const reminders = await stage.world.database.truth.reminders.list({ namespace, type, id, limit: 100 });
  const isLong = ({ how }: Carried): boolean => how.hangs === true || (how.slowMs ?? 0) > PROBE_MS / 10;
  return reminders.some(({ data }) => data !== undefined && isLong(decodeValue(data) as Carried));
}

/** Calls every actor that was called before, from every host of its namespace. */
async function probe(stage: Stage, until: Until): Promise<void> {
  const asked = new Map<string, { readonly namespace: string; readonly type: string; readonly id: string }>();
  for (const { namespace, call } of stage.operations) {
    for (const { type, id } of [call, ...(call.how.via ?? [])])
      asked.set(JSON.stringify([namespace, type, id]), { namespace, type, id });
  }
  const probes: Promise<Operation | undefined>[] = [];
  let number = 0;
  for (const { namespace, type, id } of asked.values()) {
    const here = stage.players.filter(({ planned }) => planned.namespace === namespace && !planned.dedicated);
    if (!here.some((player) => isHostOf(stage.plan, player, type))) continue;
    if (await isKeptBusy(stage, namespace, type, id)) continue;
    for (const { host } of here) {
      const method = type === PLAIN ? "append" : "read";
      const call = { at: stage.now, from: host.name, type, id, method, how: {}, timeoutMs: PROBE_MS };
      probes.push(ask(stage, call, `probe-${++number}`));
    }
  }
  let answers: (Operation | undefined)[] | undefined;
  void Promise.all(probes).then((all) => {
    answers = all;
  });
  await until(stage.now + stage.boundMs + PROBE_MS * 2, () => answers !== undefined);
  if (answers === undefined) stage.violation("progress", "a call was never answered");
  for (const operation of answers ?? []) {
    if (operation?.outcome === undefined) stage.violation("progress", "a probe could not be made");
    else if ("error" in operation.outcome) {
      const { type, id, from } = operation.call;
      stage.violation("progress", `${type}/${id} does not answer ${from} after healing: ${operation.outcome.error}`);
    }
  }
}

/** Every call of the chaos has an answer, unless its caller has ended. */
async function answers(stage: Stage, until: Until): Promise<void> {
  const isOpen = ({ outcome, process }: Operation): boolean => outcome === undefined && !process.hasEnded;
  await until(stage.now + stage.boundMs, () => !stage.operations.some(isOpen));
  for (const { token, call } of stage.operations.filter(isOpen)) {
    stage.violation("progress", `${token} on ${call.type}/${call.id} has no answer after healing`);
  }
}

/** The leader's record of every host's sticky actors equals the actors that the host holds. */
async function agreement(stage: Stage, until: Until): Promise<void> {
  if (stage.plan.sticky === undefined) return;
  const problem = await lastProblem(stage, until, () => disagreement(stage));
  if (problem !== "") stage.violation("sticky agreement", problem);
}

async function disagreement(stage: Stage): Promise<string> {
  const namespaces = Map.groupBy(
    stage.players.filter(({ planned }) => !planned.dedicated),
    ({ planned }) => planned.namespace,
  );
  try {
    for (const [namespace, players] of namespaces) {
      const hosts = players.map(({ host }) => host.app.host);
      const show = ({ type, id, address }: StickyActor): string => `${type}/${id} at ${address}`;
      const recorded = (await hosts[0]!.sticky({ limit: 1_000 })).actors.filter(({ away }) => !away).map(show);
      const pages = await Promise.all(hosts.map((host) => host.sticky({ here: true, limit: 1_000 })));
      const held = pages.flatMap(({ actors }) => actors).map(show);
      const lost = recorded.filter((one) => !held.includes(one));
      const secret = held.filter((one) => !recorded.includes(one));
      if (lost.length > 0) return `the leader believes ${lost.join(", ")} in ${namespace}, and nobody holds it there`;
      if (secret.length > 0) return `the leader does not know of ${secret.join(", ")} in ${namespace}`;
    }
    return "";
  } catch (error) {
    return String(error);
  }
}

/**
 * Retries errors that allow it: a broken connection, or a host that has just returned, may be detected only
 * now.
 */
async function ask(stage: Stage, call: PlannedCall, name: string): Promise<Operation | undefined> {
  const deadline = stage.now + stage.boundMs;
  for (let attempt = 1; ; attempt++) {
    const operation = await makeCall(stage, call, `${name}-${attempt}`);
    const { outcome } = operation ?? {};
    if (outcome !== undefined && !("error" in outcome)) return operation;
    if (stage.now >= deadline || (isLimpetError(outcome?.error) && outcome.error.retry === "never")) return operation;
    await new Promise<void>((go) => stage.world.timeline.plan(stage.now + PAUSE_MS, KIND.script, undefined, go));
  }
}

async function stopAll(stage: Stage, until: Until): Promise<void> {
  let isStopped = false;
  void Promise.all(stage.players.map((player) => stage.stop(player))).then(() => {
    isStopped = true;
  });
  await until(stage.now + stage.boundMs * 2, () => isStopped);
  if (!isStopped) {
    const left = stage.players.filter(({ host }) => host.process !== undefined).map(({ host }) => host.name);
    stage.violation("progress", `these hosts did not stop: ${left.join(", ")}`);
    return;
  }
  // The last messages have time to arrive.
  await until(stage.now + 60_000);
}
