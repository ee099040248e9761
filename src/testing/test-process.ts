// One process of a test, from its start to its end. It is the same app as in production; only its clock, its
// store and its activities come from the test.
import type { Settings } from "../config/settings.ts";
import { type App, type Definitions, openApp } from "../host/app.ts";
import { systemRandom } from "../host/system.ts";
import { invariant } from "../kernel/errors.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store/store.ts";
import type { WorkflowNode } from "../workflows/node.ts";
import type { VirtualClock } from "../world/virtual-clock.ts";
import type { ActivityMocks } from "./activity-mock.ts";
import type { DurableSteps } from "./durable-steps.ts";
import { AppLife, mortalClock, never } from "./life.ts";
import { MortalStore } from "./mortal-store.ts";

/** Dependencies that the processes of one test share. */
export interface TestProcessDeps {
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly log: Log;
  readonly settings: Settings;
  readonly checksReplay: boolean;
  readonly steps: DurableSteps;
  readonly mocks: ActivityMocks;
}

const HOUR_MS = 3_600_000;

export class TestProcess {
  readonly life = new AppLife();
  /** The store as this process sees it. */
  readonly store: Store;
  readonly #mortal: MortalStore;
  #app: App | undefined;
  #workflows: WorkflowNode | undefined;

  /** `ended`: called when it has ended at its crash step. */
  constructor({ store, steps }: TestProcessDeps, ended: (process: TestProcess) => void) {
    const { life } = this;
    this.#mortal = new MortalStore({ store, life, step: (text) => steps.next(text), end: () => ended(this) });
    this.store = this.#mortal.view;
  }

  /** Never resolves if it ends before it is open. */
  async open(definitions: Definitions, deps: TestProcessDeps): Promise<void> {
    const { clock, log, settings, checksReplay, mocks } = deps;
    const { life } = this;
    this.#app = await openApp(definitions, settings, {
      // Time stands still while it starts: a store that fails then fails the start.
      log,
      checksReplay,
      random: systemRandom,
      pingMs: HOUR_MS,
      startPatienceMs: 0,
      clock: mortalClock(clock, life),
      store: this.store,
      standIn: (name, activity) => (life.isOver ? never : mocks.standInFor(name, activity)),
      opened: (workflows) => {
        this.#workflows = workflows;
      },
    });
  }

  get isOpen(): boolean {
    return this.#app !== undefined;
  }

  get app(): App {
    invariant(this.#app !== undefined, "the app is used only after it is open");
    return this.#app;
  }

  get workflows(): WorkflowNode {
    invariant(this.#workflows !== undefined, "workflows are used only after the app is open");
    return this.#workflows;
  }

  /** Ends it with everything in its memory. */
  end(): void {
    this.life.end();
  }

  /** Releases its leases, so that other processes need not wait. */
  giveBack(): Promise<void> {
    return this.#mortal.giveBack();
  }
}
