// Connects a process to the others of its cluster: real sockets, processes and machines. The rest of the
// cluster code is independent of it; the virtual world replaces it with its own network.
import type { Settings } from "../config/settings.ts";
import { hasEnded, ownIdentity } from "../placement/discovery/process-identity.ts";
import type { ControlService } from "../ports/cluster/control-service.ts";
import type { LinkService, Links } from "../ports/links.ts";
import type { Log } from "../ports/log.ts";
import type { Meter } from "../ports/meter.ts";
import type { Coordination, ProcessIdentity } from "../ports/store/coordination.ts";
import type { ClusterSecurity } from "../wire/cluster-security.ts";
import { lazyClient } from "../wire/control/client/lazy-client.ts";
import type { SchedulerClient } from "../wire/control/client/watched-schedulers.ts";
import { loadInPortions } from "../wire/control/loading.ts";
import { openLinks } from "../wire/link/links.ts";
import { openLinkServer } from "../wire/link/server.ts";
import { secretOf } from "./open-store.ts";
import { VERSION } from "./version.ts";

export interface OpenServer {
  /** The address that other processes use. */
  readonly address: string;
  close(): Promise<void>;
}

export interface ClusterWire {
  /** Identity of this process. */
  readonly identity: ProcessIdentity;
  /** True only when it is certain. */
  hasEnded(process: ProcessIdentity): boolean;
  openLinkServer(service: LinkService): Promise<OpenServer>;
  /** `address`: the address of this host's own link server. */
  openLinks(address: string): Links;
  openControlServer(service: ControlService): Promise<OpenServer>;
  /** The scheduler of another process. */
  connect(address: string, term: number): SchedulerClient;
  /** Loads modules in advance that would cost time later. */
  prepare(): void;
}

export interface SystemWireDeps {
  readonly log: Log;
  readonly meter: Meter;
  readonly coordination: Pick<Coordination, "secret">;
}

export function systemWire(settings: Settings, { log, meter, coordination }: SystemWireDeps): ClusterWire {
  const { namespace, clusterHost: host, linkPort, schedulerPort, clusterKeys } = settings;
  // Set before the first server opens; the rest happens after that.
  let security: ClusterSecurity = { keys: clusterKeys };
  const secure = async (): Promise<void> => {
    if (clusterKeys.length > 0 || security.secret !== undefined) return;
    security = { keys: [], secret: await secretOf(coordination) };
  };
  const version = VERSION;
  return {
    identity: ownIdentity,
    hasEnded,
    async openLinkServer(service) {
      await secure();
      return openLinkServer(service, { host, port: linkPort, namespace, security, version }, { log, meter });
    },
    openLinks: (address) => openLinks({ address, namespace, security, log, version }),
    // Most processes are alone, so the library of the control stream is loaded on first use.
    async openControlServer(service) {
      await secure();
      const { openControlServer } = await import("../wire/control/server/server.ts");
      return openControlServer(service, { host, port: schedulerPort, security }, { log, meter });
    },
    connect: (address, term) => lazyClient({ security, log })(address, term),
    prepare: () => void loadInPortions().catch(() => {}),
  };
}
