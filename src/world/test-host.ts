// A host of a test's world: tests call actors through it, and it may be down or asleep.
import type { ActorClass, AnyActor, CallSettings, Remote } from "../actors/routing/remote.ts";
import type { App } from "../host/app.ts";
import { LimpetError } from "../kernel/errors.ts";
import type { WorkflowClient } from "../workflows/client/client.ts";
import { clientThrough } from "./test-client.ts";
import type { World } from "./world.ts";
import type { WorldHost } from "./world-host.ts";

export class TestHost {
  readonly name: string;
  readonly #host: WorldHost;
  readonly #world: World;
  readonly #checkOpen: () => void;

  constructor(host: WorldHost, world: World, checkOpen: () => void) {
    this.name = host.name;
    this.#host = host;
    this.#world = world;
    this.#checkOpen = checkOpen;
  }

  /** A process runs here and has joined the cluster. It may be asleep. */
  get isUp(): boolean {
    return this.#host.isUp;
  }

  get isAsleep(): boolean {
    return this.#host.process?.isAsleep ?? false;
  }

  /** The app that runs here now. Requests through it let no time pass; `run` does. */
  get app(): App {
    this.#checkOpen();
    const app = this.#host.process?.app;
    if (app === undefined) throw this.#host.process === undefined ? isDown(this.name) : isStarting(this.name);
    return app;
  }

  /**
   * An actor, called through this host, whichever process runs here then. Time passes until it has answered.
   * A call rejects with NOT_READY when the host is down, and with ANSWER_LOST when it goes down before the
   * answer.
   */
  actor<A extends AnyActor>(type: ActorClass<A>, id: string, settings?: CallSettings): Remote<A>;
  actor<A extends AnyActor = never>(type: string, id: string, settings?: CallSettings): Remote<A>;
  actor(type: ActorClass | string, id: string, settings?: CallSettings): object {
    type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;
    const call = async (method: string, args: unknown[]): Promise<unknown> => {
      try {
        return await this.run((app) => (app.actor(type as string, id, settings) as Methods)[method]!(...args));
      } catch (error) {
        const what = `${typeof type === "string" ? type : type.name}/${id}.${method}`;
        this.#world.story.record(this.name, "info", `a call through it failed: ${what}`, { err: error });
        throw error;
      }
    };
    return new Proxy(Object.create(null) as object, {
      get: (_, method) => {
        // A handle must not look like a promise, or `await` would call it.
        if (typeof method === "symbol" || method === "then" || method === "toJSON") return undefined;
        return (...args: unknown[]) => call(method, args);
      },
    });
  }

  /**
   * Workflows, requested through this host, whichever process runs here then. Time passes until there is an
   * answer.
   */
  get workflows(): WorkflowClient {
    return clientThrough((question) => this.run((app) => question(app.workflows)));
  }

  /** Runs work with the app of this host while time passes: `host.run((app) => app.host.cluster())`. */
  async run<T>(work: (app: App) => Promise<T>): Promise<T> {
    const { app } = this;
    return this.#world.inside(() => work(app), this.#host.process!);
  }

  toString(): string {
    return this.name;
  }
}

const isStarting = (name: string): LimpetError =>
  new LimpetError(
    "NOT_READY",
    `${name} has been started and is not part of the cluster yet; await the world.restart() that starts it`,
  );

export const isDown = (name: string): LimpetError =>
  new LimpetError("NOT_READY", `${name} is down; start it with world.restart("${name}")`);
