import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../ports/clock.ts";
import { Deadlines } from "../activation/deadlines.ts";
import { cancelled, Turn } from "../activation/turn.ts";
import { WaitingQueue } from "./waiting-queue.ts";

interface Alarm {
  readonly at: number;
  readonly fn: () => void;
  readonly background: boolean;
}

class StandingClock implements Clock {
  readonly alarms = new Set<Alarm>();
  time = 0;

  /** Advances the clock, and runs the due timers. */
  pass(ms: number): void {
    this.time += ms;
    for (const alarm of [...this.alarms]) {
      if (alarm.at > this.time) continue;
      this.alarms.delete(alarm);
      alarm.fn();
    }
  }

  now(): number {
    return 0;
  }

  monotonic(): number {
    return this.time;
  }

  after(ms: number, fn: () => void, background?: "background"): { cancel(): void } {
    const alarm = { at: this.time + ms, fn, background: background !== undefined };
    this.alarms.add(alarm);
    return { cancel: () => void this.alarms.delete(alarm) };
  }

  soon(): void {}
}

const problem = (): undefined => undefined;

function callTo(id: string, clock: Clock): Turn {
  const type = { name: "Cart", options: { callTimeoutMs: 1_000 } };
  return new Turn({
    type,
    id,
    method: "add",
    args: [],
    parent: undefined,
    timeoutMs: 1_000,
    now: 0,
    deadlines: new Deadlines(clock),
    work: undefined,
  });
}

test("a process stays alive while calls wait, and waiting calls retry by themselves", () => {
  const clock = new StandingClock();
  const left: Turn[] = [];
  const queue = new WaitingQueue(clock, { leave: (turn) => void left.push(turn), problem });
  const turn = callTo("a", clock);
  queue.add(turn);
  const [alarm, ...more] = [...clock.alarms];
  assert.equal(more.length, 0);
  assert.equal(alarm!.background, false);
  clock.pass(60_000);
  assert.deepEqual(left, [turn]);
  assert.equal(clock.alarms.size, 0);
});

test("a call whose caller gave up while others left is not routed", () => {
  const clock = new StandingClock();
  const [first, second] = [callTo("a", clock), callTo("b", clock)];
  const left: Turn[] = [];
  const queue = new WaitingQueue(clock, {
    leave(turn) {
      left.push(turn);
      second.cancel(cancelled(second.label, "enough"));
    },
    problem,
  });
  void second.promise(undefined).catch(() => {});
  queue.add(first);
  queue.add(second);
  queue.release("Cart");
  assert.deepEqual(left, [first]);
});

test("when the queue closes, own calls fail and calls of other hosts are rejected", async () => {
  const clock = new StandingClock();
  const queue = new WaitingQueue(clock, { leave: () => assert.fail("nobody leaves"), problem });
  const [own, late] = [callTo("a", clock), callTo("b", clock)];
  const foreign = callTo("c", clock);
  let turnedBack = 0;
  foreign.rejectNotOwner = () => turnedBack++;
  queue.add(own);
  queue.add(foreign);
  queue.close();
  queue.add(late);
  await assert.rejects(own.promise(undefined), { code: "STOPPING" });
  await assert.rejects(late.promise(undefined), { code: "STOPPING" });
  assert.equal(turnedBack, 1);
  assert.equal(queue.size, 0);
  assert.ok([...clock.alarms].every(({ background }) => background));
});

test("a call that timed out in the queue names the reason", () => {
  const clock = new StandingClock();
  let why: string | undefined = "no scheduler leads";
  const queue = new WaitingQueue(clock, { leave() {}, problem: () => why });
  const turn = callTo("a", clock);
  assert.match(queue.late(turn).message, /no scheduler leads/);
  why = undefined;
  turn.routed().obstacle = "10.0.0.7:41 cannot be reached";
  assert.match(queue.late(turn).message, /10\.0\.0\.7:41 cannot be reached/);
});

test("each call waits for its own time, even if others retry sooner", () => {
  const clock = new StandingClock();
  const left: Turn[] = [];
  const queue = new WaitingQueue(clock, { leave: (turn) => void left.push(turn), problem });
  const [patient, hasty] = [callTo("a", clock), callTo("b", clock)];
  queue.add(patient, 200);
  queue.add(hasty, 5);
  clock.pass(5);
  assert.deepEqual(left, [hasty]);
  queue.add(hasty, 5);
  queue.release("Cart");
  assert.deepEqual(left, [hasty, patient, hasty]);
  queue.add(patient, 200);
  clock.pass(199);
  assert.equal(left.length, 3);
  clock.pass(1);
  assert.equal(left.length, 4);
  assert.equal(clock.alarms.size, 0);
});

test("all calls to one actor leave together in order of arrival when one of them is due", () => {
  const clock = new StandingClock();
  const left: Turn[] = [];
  const queue = new WaitingQueue(clock, { leave: (turn) => void left.push(turn), problem });
  const [first, second, other] = [callTo("a", clock), callTo("a", clock), callTo("b", clock)];
  queue.add(first, 200);
  queue.add(second, 5);
  queue.add(other, 200);
  clock.pass(5);
  assert.deepEqual(left, [first, second]);
  assert.equal(queue.size, 1);
});

test("a call that must wait again stays in front of later ones, and they do not leave before it", () => {
  const clock = new StandingClock();
  const [first, second] = [callTo("a", clock), callTo("a", clock)];
  const left: Turn[] = [];
  let isOpen = false;
  const queue = new WaitingQueue(clock, {
    leave(turn) {
      if (!isOpen || queue.isBehind(turn)) queue.add(turn);
      else left.push(turn);
    },
    problem,
  });
  queue.add(first);
  queue.add(second);
  queue.release("Cart");
  assert.deepEqual(left, []);
  assert.equal(queue.isBehind(second), true);
  assert.equal(queue.isBehind(first), false);
  isOpen = true;
  queue.release("Cart");
  assert.deepEqual(left, [first, second]);
});

test("a call made by a leaving call queues behind the ones still to leave, and follows them", () => {
  const clock = new StandingClock();
  const [first, second, third] = [callTo("a", clock), callTo("a", clock), callTo("a", clock)];
  const left: Turn[] = [];
  const arrive = (turn: Turn): void => {
    queue.number(turn);
    if (queue.isBehind(turn)) queue.add(turn);
    else left.push(turn);
  };
  const queue = new WaitingQueue(clock, {
    leave(turn) {
      arrive(turn);
      if (turn === first) arrive(third);
    },
    problem,
  });
  queue.add(first);
  queue.add(second);
  queue.release("Cart");
  assert.deepEqual(left, [first, second, third]);
  assert.equal(queue.size, 0);
});

test("the calls that wait for a shard leave when its home is known, and others stay", () => {
  const clock = new StandingClock();
  const left: Turn[] = [];
  const leave = (turn: Turn): void => void left.push(turn);
  const shardOf = ({ id }: Turn): number | undefined => (id === "?" ? undefined : Number(id));
  const queue = new WaitingQueue(clock, { leave, problem, shardOf });
  const [one, two, unknown] = [callTo("1", clock), callTo("2", clock), callTo("?", clock)];
  for (const turn of [one, two, unknown]) queue.add(turn);
  queue.release("Cart", 1);
  assert.deepEqual(left, [one, unknown]);
  assert.equal(queue.waiting("Cart"), 1);
  queue.releaseAll();
  assert.deepEqual(left, [one, unknown, two]);
});

test("each call of a line is tried, also behind one that returns at once, and the order is kept", () => {
  const clock = new StandingClock();
  const [first, second, third] = ["a", "a", "a"].map((id) => callTo(id, clock)) as [Turn, Turn, Turn];
  const tried: Turn[] = [];
  let stays: readonly Turn[] = [first, third];
  const queue: WaitingQueue = new WaitingQueue(clock, {
    leave(turn) {
      tried.push(turn);
      if (stays.includes(turn)) queue.add(turn);
    },
    problem,
  });
  for (const turn of [first, second, third]) queue.add(turn);
  queue.release("Cart");
  assert.deepEqual(tried, [first, second, third]);
  assert.equal(queue.size, 2);
  stays = [];
  queue.release("Cart");
  assert.deepEqual(tried.slice(3), [first, third]);
  assert.equal(queue.size, 0);
});

test("the waiting calls of a type are limited by its capacity, and each retries at the interval of the type", () => {
  const clock = new StandingClock();
  const left: Turn[] = [];
  const queue = new WaitingQueue(clock, {
    leave: (turn) => void left.push(turn),
    problem,
    capacity: () => 2,
    lookAgainMs: () => 250,
  });
  const turns = ["a", "b", "c"].map((id) => callTo(id, clock));
  const outcomes = turns.map((turn) =>
    turn.promise(undefined).then(
      () => "",
      (error: Error) => error.message,
    ),
  );
  for (const turn of turns) queue.add(turn);
  assert.equal(queue.size, 2);
  clock.pass(249);
  assert.equal(left.length, 0);
  clock.pass(1);
  assert.deepEqual(left, turns.slice(0, 2));
  return outcomes[2]!.then((message) => assert.match(message, /calls already wait for a host of Cart/));
});
