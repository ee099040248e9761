// Describes a host in the shape that tools and SDKs of this API expect. Pure.
import type { ServerHost } from "../../../ports/host-admin.ts";

export function describeHost(host: ServerHost): unknown {
  const status = host.status();
  const actors = host.types().map(({ type, active }) => ({ type, count: active }));
  return {
    id: status.incarnation,
    runtimeVersion: status.version,
    enabledFeatures: [],
    actors,
    components: [],
    subscriptions: [],
    actorRuntime: {
      runtimeStatus: "RUNNING",
      activeActors: actors,
      hostReady: status.ready,
      placement: `placement: ${status.ready ? "connected" : "disconnected"}`,
    },
    // Every value here must be a text.
    extended: {
      namespace: status.namespace,
      store: status.store,
      startedAt: new Date(status.startedAt).toISOString(),
      ...(status.address === undefined ? {} : { address: status.address }),
      ...(status.problem === undefined ? {} : { problem: status.problem }),
    },
  };
}
