"""Drives a Limpet host with the released Python SDK, and prints one line of JSON for each scenario."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback

from durable_workflow import Client, Worker, activity, workflow
from durable_workflow.history_bundle_verify import verify_bundle
from durable_workflow.errors import ActivityFailed, DurableOperationCancelled, WorkflowCancelled
from durable_workflow.workflow import replay

QUEUE = "python"
CLEANUP_QUEUE = "python-cleanup"
URL = sys.argv[1]
ONLY = set(sys.argv[2:])
calls: dict[str, int] = {}


def count(name: str) -> int:
    calls[name] = calls.get(name, 0) + 1
    return calls[name]


@activity.defn(name="echo")
def echo(value):
    count(f"echo {value}")
    return value


@activity.defn(name="slow")
async def slow(value):
    """Never ends by itself. It hears with a heartbeat that nobody waits for it any more."""
    while True:
        await asyncio.sleep(0.1)
        await activity.context().heartbeat()


@activity.defn(name="later")
async def later(value):
    await asyncio.sleep(0.5)
    return value


@activity.defn(name="broken")
def broken(text):
    raise ValueError(text)


@activity.defn(name="flaky")
def flaky(key):
    attempt = count(f"flaky {key}")
    if attempt < 3:
        raise RuntimeError(f"attempt {attempt}")
    return attempt


@workflow.defn(name="py.select")
class Select:
    """A quick activity wins against a slow one and a timer, which are cancelled."""

    def run(self, ctx):
        first = yield ctx.select({
            "slow": ctx.schedule_activity("slow", ["never"]),
            "quick": ctx.schedule_activity("echo", ["quick"]),
            "timer": ctx.start_timer(3600),
        })
        yield first.handles["slow"].cancel()
        yield first.handles["timer"].cancel()
        try:
            yield first.handles["slow"].await_result()
            cancelled = False
        except DurableOperationCancelled:
            cancelled = True
        after = yield ctx.schedule_activity("echo", ["after"])
        return [first.key, first.kind, first.result(), cancelled, after]


@workflow.defn(name="py.select-rest")
class SelectRest:
    """A timer wins; the code then waits for a member that lost, and runs a second selection."""

    def run(self, ctx):
        first = yield ctx.select([ctx.schedule_activity("later", ["late"]), ctx.start_timer(0)])
        rest = yield first.handles[0].await_result()
        second = yield ctx.select({
            "group": [ctx.schedule_activity("echo", [1]), ctx.schedule_activity("echo", [2])],
            "slow": ctx.start_timer(3600),
        })
        return [first.index, first.kind, rest, second.key, second.result()]


@workflow.defn(name="py.select-failure")
class SelectFailure:
    """A member that fails first wins with its failure; a child is a member as well."""

    def run(self, ctx):
        first = yield ctx.select({
            "broken": ctx.schedule_activity("broken", ["on purpose"]),
            "slow": ctx.start_timer(3600),
        })
        try:
            first.result()
            failure = None
        except ActivityFailed as error:
            failure = str(error)
        child = yield ctx.select({
            "child": ctx.start_child_workflow("py.child", ["c"], parent_close_policy="terminate"),
            "slow": ctx.start_timer(3600),
        })
        return [first.key, first.succeeded, "on purpose" in failure, child.key, child.result()]


@workflow.defn(name="py.child")
class Child:
    def run(self, ctx, name):
        value = yield ctx.schedule_activity("echo", [f"child {name}"])
        return value


@workflow.defn(name="py.select-condition")
class SelectCondition:
    def run(self, ctx):
        yield ctx.select([ctx.wait_condition(lambda: False, key="never"), ctx.start_timer(0)])
        return "not reached"


@workflow.defn(name="py.memo")
class Memo:
    def __init__(self):
        self.isDone = False

    @workflow.signal("end")
    def end(self):
        self.isDone = True

    def run(self, ctx):
        yield ctx.upsert_memo({"stage": "paid", "count": 7, "ratio": 7.0, "gone": [1, {"a": None}]})
        yield ctx.schedule_activity("echo", ["memo"])
        yield ctx.upsert_memo({"gone": None, "stage": "sent"})
        yield ctx.wait_condition(lambda: self.isDone, key="end")
        return "done"


@workflow.defn(name="py.local")
class Local:
    def run(self, ctx, key):
        one = yield ctx.local_activity("echo", [f"local {key}"])
        two = yield ctx.local_activity("flaky", [key], retry_policy={"max_attempts": 3})
        try:
            yield ctx.local_activity("broken", ["in place"])
            failure = None
        except ActivityFailed as error:
            failure = str(error)
        remote = yield ctx.schedule_activity("echo", [f"remote {key}"])
        three = yield ctx.local_activity("echo", [f"again {key}"])
        return [one, two, "in place" in failure, remote, three]


@workflow.defn(name="py.local-only")
class LocalOnly:
    def run(self, ctx):
        value = yield ctx.local_activity("echo", ["alone"])
        return value


@workflow.defn(name="py.signal-while-busy")
class Busy:
    """A signal that arrives while an activity runs; the SDK then has nothing to tell."""

    def __init__(self):
        self.names = []

    @workflow.signal("name")
    def name(self, name):
        self.names.append(name)

    @workflow.query("names")
    def seen(self):
        return list(self.names)

    def run(self, ctx):
        value = yield ctx.schedule_activity("later", ["busy"])
        yield ctx.wait_condition(lambda: len(self.names) > 0, key="named")
        return [value, self.names]


@workflow.defn(name="py.cancel")
class Cancel:
    """Waits for a slow activity. When it is cancelled it cleans up behind a shield, and ends as cancelled."""

    def run(self, ctx):
        yield ctx.schedule_activity("echo", ["begun"], queue=QUEUE)
        try:
            yield ctx.schedule_activity("slow", ["interrupted"], queue=QUEUE)
        except WorkflowCancelled:
            with ctx.cancellation_shield():
                yield ctx.schedule_activity("echo", ["cleaned up"], queue=QUEUE)
                yield ctx.start_timer(0)
            raise


@workflow.defn(name="py.cancel-waiting")
class CancelWaiting:
    """Waits for a condition. When it is cancelled it returns what it has."""

    def run(self, ctx):
        try:
            yield ctx.wait_condition(lambda: False, key="never", timeout=3600)
        except WorkflowCancelled:
            return "left early"


@workflow.defn(name="py.plain")
class Plain:
    def run(self, ctx):
        yield ctx.start_timer(3600)


@workflow.defn(name="py.cancel-stuck")
class CancelStuck:
    """Does not end when it is cancelled."""

    def run(self, ctx):
        try:
            yield ctx.start_timer(3600)
        except WorkflowCancelled:
            with ctx.cancellation_shield():
                yield ctx.start_timer(3600)


CLEANUPS = [Cancel, CancelWaiting, CancelStuck]
WORKFLOWS = [
    Plain, Select, SelectRest, SelectFailure, SelectCondition, Child, Memo, Local, LocalOnly, Busy,
]
ACTIVITIES = [echo, slow, later, broken, flaky]


async def run(client, kind, *args, id=None, queue=QUEUE):
    return await client.start_workflow(workflow_type=kind, task_queue=queue, workflow_id=id or kind, input=list(args))


async def result(handle, timeout=60):
    return await asyncio.wait_for(handle.result(poll_interval=0.05, timeout=timeout), timeout + 5)


async def until(look, timeout=60):
    async def loop():
        while True:
            found = await look()
            if found:
                return found
            await asyncio.sleep(0.05)
    return await asyncio.wait_for(loop(), timeout)


SCENARIOS = {}


def scenario(fn):
    SCENARIOS[fn.__name__] = fn
    return fn


@scenario
async def health(client):
    return (await client.health())["status"]


@scenario
async def select(client):
    return await result(await run(client, "py.select"))


@scenario
async def select_rest(client):
    return await result(await run(client, "py.select-rest"))


@scenario
async def select_failure(client):
    return await result(await run(client, "py.select-failure"))


@scenario
async def select_condition(client):
    """A condition in a selection is refused by name, and the run shows why."""
    handle = await run(client, "py.select-condition")

    async def problem():
        data = await client._request("GET", f"/workflows/{handle.workflow_id}")
        return (data.get("workflow_task") or {}).get("last_error")
    text = await until(problem)
    history = await client.get_history(handle.workflow_id, handle.run_id)
    await client.terminate_workflow(handle.workflow_id)
    return ["a condition in a group is not supported" in text, [event["event_type"] for event in history["events"]]]


@scenario
async def memo(client):
    handle = await run(client, "py.memo")

    async def sent():
        description = await client.describe_workflow(handle.workflow_id)
        return description.memo if (description.memo or {}).get("stage") == "sent" else None
    found = await until(sent)
    await client.signal_workflow(handle.workflow_id, "end")
    return [found, await result(handle)]


@scenario
async def export(client):
    """The bundle of a run that is over passes the SDK's own verifier, and its history replays."""
    handle = await run(client, "py.local", "exported", id="exported")
    value = await result(handle)
    bundle = await handle.export_history()
    report = verify_bundle(bundle)
    outcome = replay(Local, bundle["history_events"][:-1], ["exported"], workflow_id="exported", run_id=handle.run_id)
    return [value[0], report["status"], report["findings"], type(outcome.commands[0]).__name__]


@scenario
async def listing(client):
    """A filter filters; one that cannot be read is refused."""
    handle = await client.start_workflow(
        workflow_type="py.child", task_queue=QUEUE, workflow_id="listed", input=["x"], search_attributes={"city": "Rome"})
    await result(handle)
    found = await client.list_workflows(query='WorkflowType = "py.child" AND city = "Rome"')
    none = await client.list_workflows(query='city = "Oslo"')
    try:
        await client.list_workflows(query="city like 'R%'")
        refused = False
    except Exception:
        refused = True
    return [[each.workflow_id for each in found.executions], len(none.executions), refused]


@scenario
async def local(client):
    told = await result(await run(client, "py.local", "k"))
    return [*told, calls["echo local k"], calls["flaky k"]]


@scenario
async def local_only(client):
    return await result(await run(client, "py.local-only"))


@scenario
async def busy(client):
    handle = await run(client, "py.signal-while-busy")
    await client.signal_workflow(handle.workflow_id, "name", args=["ada"])
    return await result(handle)


async def waiting_in(client, handle, event):
    """Until the history has this event."""
    async def look():
        history = await client.get_history(handle.workflow_id, handle.run_id)
        return [each["event_type"] for each in history["events"]].count(event[0]) >= event[1]
    await until(look)


async def cancelled(client, handle):
    """How a run that is cancelled ends."""
    try:
        return ["ended", await result(handle)]
    except WorkflowCancelled:
        history = await client.get_history(handle.workflow_id, handle.run_id)
        return ["cancelled", [each["event_type"] for each in history["events"]]]


@scenario
async def cancel(client):
    handle = await run(client, "py.cancel", queue=CLEANUP_QUEUE)
    await waiting_in(client, handle, ("ActivityScheduled", 2))
    first = await client.request_workflow_cancellation(handle.workflow_id, reason="closing", cleanup_timeout_seconds=60)
    again = await client.request_workflow_cancellation(handle.workflow_id, reason="again")
    same = first["cancellation_request"] == again["cancellation_request"]
    return [first["duplicate"], again["duplicate"], same, *await cancelled(client, handle)]


@scenario
async def cancel_waiting(client):
    handle = await run(client, "py.cancel-waiting", queue=CLEANUP_QUEUE)
    await waiting_in(client, handle, ("ConditionWaitOpened", 1))
    await handle.request_cancellation(reason="closing")
    return await cancelled(client, handle)


@scenario
async def cancel_before_it_began(client):
    """The request is there before the first task of the run is."""
    handle = await client.start_workflow(
        workflow_type="py.cancel-waiting", task_queue=CLEANUP_QUEUE, workflow_id="cancelled-early", input=[])
    await client.request_workflow_cancellation(handle.workflow_id)
    return await cancelled(client, handle)


@scenario
async def cancel_stuck(client):
    handle = await run(client, "py.cancel-stuck", queue=CLEANUP_QUEUE)
    await waiting_in(client, handle, ("TimerScheduled", 1))
    await client.request_workflow_cancellation(handle.workflow_id, cleanup_timeout_seconds=1)
    how, events = await cancelled(client, handle)
    return [how, events[-2:]]


@scenario
async def cancel_unable(client):
    """A worker that has not registered for it is not asked to clean up: the request is refused, and a plain cancel ends the run."""
    handle = await run(client, "py.plain")
    await waiting_in(client, handle, ("TimerScheduled", 1))
    try:
        await client.request_workflow_cancellation(handle.workflow_id)
        refused = False
    except Exception as error:
        refused = "cooperative_cancellation_unavailable" in str(error)
    await client.cancel_workflow(handle.workflow_id)
    return [refused, *await cancelled(client, handle)]


async def run_all(client, scenarios):
    async def one(name, fn):
        try:
            told = {"name": name, "result": await fn(client)}
        except Exception as error:
            told = {"name": name, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(told), flush=True)
    await asyncio.gather(*(one(name, fn) for name, fn in scenarios.items() if not ONLY or name in ONLY))


async def registered(client, worker):
    data = await client._request("GET", "/workers")
    return any(each["worker_id"] == worker.worker_id for each in data["workers"])


async def main():
    """Two workers. The second cleans up after runs that are cancelled.

    Such a worker starts a process for each activity that it runs, and gives it a few seconds to begin. That is too short on a busy machine,
    so its workflows have their activities done by the first.
    """
    async with Client(URL) as client:
        workers = [
            Worker(client, task_queue=QUEUE, workflows=WORKFLOWS, activities=ACTIVITIES),
            Worker(
                client, task_queue=CLEANUP_QUEUE, workflows=CLEANUPS, activities=[],
                capabilities=["cooperative_cancellation"],
            ),
        ]
        running = [asyncio.create_task(worker.run()) for worker in workers]
        for worker in workers:
            await until(lambda: registered(client, worker))
        work = asyncio.create_task(run_all(client, SCENARIOS))
        await asyncio.wait([work, *running], return_when=asyncio.FIRST_COMPLETED)
        for each in running:
            if each.done():
                print(json.dumps({"name": "worker", "error": repr(each.exception())}), flush=True)
        work.cancel()
        await asyncio.gather(*(worker.stop() for worker in workers))
        await asyncio.gather(*running, work, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
