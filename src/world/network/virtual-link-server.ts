// The link server of a host of a virtual world: serves calls of other hosts, and closes without losing an
// answer.

import { serializeError } from "../../kernel/serialized-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Cancel, LinkService } from "../../ports/links.ts";
import { LINK_LIMITS } from "../../wire/link/limits.ts";
import { decodeArguments, encodeLinkResult } from "../../wire/link/payloads.ts";
import type { Travelling, VirtualLinkMessage } from "./link-messages.ts";
import type { End, Network, Station } from "./network.ts";

/** Serves calls of other hosts. */
export class VirtualLinkServer {
  readonly address: string;
  readonly #service: LinkService;
  readonly #clock: Clock;
  readonly #listening: { close(): void };
  readonly #served = new Set<Served>();
  #isClosing = false;
  /** When a connection last had no calls left. */
  #idleAt = 0;
  #onChange: (() => void) | undefined;

  constructor(address: string, service: LinkService, network: Network, station: Station, clock: Clock) {
    this.address = address;
    this.#service = service;
    this.#clock = clock;
    this.#listening = network.listen(address, station, (end) => {
      const served = new Served(end, this.#service, {
        idle: () => {
          this.#idleAt = this.#clock.monotonic();
          this.#onChange?.();
        },
        ended: () => {
          this.#served.delete(served);
          this.#onChange?.();
        },
      });
      this.#served.add(served);
      end.send({ kind: "hello" } satisfies VirtualLinkMessage);
      if (this.#isClosing) served.leave();
      return served;
    });
  }

  /** Asks callers to leave, lets running calls finish for a while, and then closes every connection. */
  async close(): Promise<void> {
    const { closeMs, lingerMs } = LINK_LIMITS;
    this.#listening.close();
    this.#isClosing = true;
    this.#idleAt = this.#clock.monotonic();
    const latest = this.#idleAt + closeMs;
    for (const served of this.#served) served.leave();
    // Callers hang up after their last answer, unless they have ended.
    while (this.#served.size > 0) {
      const isQuiet = [...this.#served].every(({ inProgress }) => inProgress === 0);
      const leftMs = (isQuiet ? Math.min(this.#idleAt + lingerMs, latest) : latest) - this.#clock.monotonic();
      if (leftMs <= 0) break;
      await this.#change(leftMs);
    }
    for (const served of this.#served) served.close();
  }

  async #change(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onChange = resolve;
    const timer = this.#clock.after(ms, resolve);
    await promise;
    timer.cancel();
  }
}

/** The serving side of one connection. */
class Served {
  readonly #end: End;
  readonly #service: LinkService;
  readonly #owner: { idle(): void; ended(): void };
  readonly #cancels = new Map<number, Cancel | undefined>();

  constructor(end: End, service: LinkService, owner: { idle(): void; ended(): void }) {
    this.#end = end;
    this.#service = service;
    this.#owner = owner;
  }

  get inProgress(): number {
    return this.#cancels.size;
  }

  message(message: unknown): void {
    const received = message as VirtualLinkMessage;
    if (received.kind === "call") this.#serve(received.number, received.call);
    else if (received.kind === "cancel" && this.#cancels.has(received.number)) {
      const cancel = this.#cancels.get(received.number);
      this.#answer({ kind: "value", number: received.number, text: "" });
      cancel?.();
    }
  }

  #serve(number: number, { args, ...call }: Travelling): void {
    this.#cancels.set(number, undefined);
    const cancel = this.#service.serve(
      { ...call, args: decodeArguments(args as never) },
      {
        value: (result) => this.#answer({ kind: "value", number, text: "" }, result),
        error: (error) => this.#answer({ kind: "error", number, text: JSON.stringify(serializeError(error)) }),
        notOwner: (ownership) => this.#answer({ kind: "notOwner", number, ownership }),
      },
      this,
    );
    if (this.#cancels.has(number)) this.#cancels.set(number, cancel);
  }

  /** The first answer counts. */
  #answer(request: Extract<VirtualLinkMessage, { readonly number: number }>, result?: unknown): void {
    if (!this.#cancels.has(request.number)) return;
    let answer = request;
    if (request.kind === "value" && result !== undefined) {
      try {
        answer = { ...request, text: encodeLinkResult(result) };
      } catch (error) {
        answer = { kind: "error", number: request.number, text: JSON.stringify(serializeError(error)) };
      }
    }
    this.#cancels.delete(request.number);
    this.#end.send(answer);
    if (this.#cancels.size === 0) this.#owner.idle();
  }

  ended(): void {
    const cancels = [...this.#cancels.values()];
    this.#cancels.clear();
    this.#owner.ended();
    for (const cancel of cancels) cancel?.();
  }

  /** Asks its caller to leave. */
  leave(): void {
    this.#end.send({ kind: "bye" } satisfies VirtualLinkMessage);
  }

  close(): void {
    this.#end.close();
    this.ended();
  }
}
