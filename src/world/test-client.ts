// Workflow client of a test's world: time passes while a request is in progress.
import type { StartOptions, UpdateOptions, WorkflowClient, WorkflowHandle } from "../workflows/client/client.ts";
import type { AnyWorkflow } from "../workflows/definition/definition.ts";
import { type GetArguments, runToGet } from "../workflows/definition/run-name.ts";

type Handle = WorkflowHandle<never>;
type Ask = <T>(question: (client: WorkflowClient) => Promise<T>) => Promise<T>;

/** Methods for tests; internal ones are left out. */
const asked = (ask: Ask): Pick<Record<keyof WorkflowClient, unknown>, "start" | "get" | "list" | "count"> => ({
  async start(of: AnyWorkflow | string, options?: StartOptions<unknown>): Promise<Handle> {
    const { id, runId } = await ask((client) => client.start(of as string, options));
    return handleOf(ask, id, runId);
  },
  get(...args: GetArguments): Handle {
    const { id, runId } = runToGet(...args);
    return handleOf(ask, id, runId);
  },
  list: (query?: Parameters<WorkflowClient["list"]>[0]) => ask((client) => client.list(query)),
  count: (query?: Parameters<WorkflowClient["count"]>[0]) => ask((client) => client.count(query)),
});

export const clientThrough = (ask: Ask): WorkflowClient => asked(ask) as unknown as WorkflowClient;

function handleOf(ask: Ask, id: string, runId: string | undefined): Handle {
  const through = <T>(question: (handle: Handle) => Promise<T>): Promise<T> =>
    ask((client) => question(client.get(id, { runId })));
  return {
    id,
    runId,
    result: (options) => through((handle) => handle.result(options)),
    signal: (name: unknown, input?: unknown) => through((handle) => handle.signal(name as string, input)),
    query: (name: unknown, input?: unknown) => through((handle) => handle.query(name as string, input)) as never,
    update: (name: unknown, input?: unknown, options?: UpdateOptions) =>
      through((handle) => handle.update(name as string, input, options)) as never,
    cancel: (reason) => through((handle) => handle.cancel(reason)),
    terminate: (reason) => through((handle) => handle.terminate(reason)),
    describe: () => through((handle) => handle.describe()),
    history: () => through((handle) => handle.history()),
  };
}
