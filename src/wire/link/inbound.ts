// The serving side of one connection. Each received call is served once and gets exactly one final answer.

import type { Socket } from "node:net";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import type { LinkService, RemoteCall, RemoteCause } from "../../ports/links.ts";
import type { Log } from "../../ports/log.ts";
import type { Counter } from "../../ports/meter.ts";
import type { ByteBudget } from "../byte-budget.ts";
import type { RefusalLog } from "../refusal-log.ts";
import { ServedCalls } from "./call-numbers.ts";
import { LinkConnection, type LinkConnectionDeps } from "./connection.ts";
import type { LinkHello } from "./hello.ts";
import { type LinkLimits, messageLimit } from "./limits.ts";
import { broken, type MessageReader } from "./message-reader.ts";
import { FRAME_KIND } from "./messages.ts";
import { decodeArguments } from "./payloads.ts";
import { ServedCall, type Server } from "./served-call.ts";

/** Values that all connections of a link server share. */
export interface InboundLimits {
  readonly own: LinkHello;
  readonly service: LinkService;
  readonly limits: LinkLimits;
  readonly log: Log;
  readonly refusals: RefusalLog;
  readonly held: ByteBudget;
  readonly calls: Counter;
  onIdle(): void;
  onClosed(inbound: Inbound): void;
}

const NO_CAUSES: readonly RemoteCause[] = [];

export class Inbound implements LinkConnectionDeps, Server {
  readonly #shares: InboundLimits;
  readonly #namespace: string;
  readonly #peer: string;
  readonly #connection: LinkConnection;
  readonly #calls: ServedCalls<ServedCall>;
  #uncounted = 0;
  readonly unsentBytes: number;
  readonly resultBytes: number;

  constructor(socket: Socket, shares: InboundLimits) {
    const { own, limits, held } = shares;
    this.#shares = shares;
    this.#namespace = own.namespace;
    this.#peer = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#calls = new ServedCalls(limits.calls);
    this.unsentBytes = limits.unsentBytes;
    this.resultBytes = messageLimit(limits) - 64;
    this.#connection = new LinkConnection(socket, own, limits, this, held);
  }

  start(): void {
    this.#connection.start("serves");
  }

  get inProgress(): number {
    return this.#calls.size;
  }

  /** Asks the caller to leave. A connection without a hello is closed instead. */
  leave(): void {
    if (this.#connection.isOpen) this.#connection.sendBye();
    else this.close();
  }

  close(): void {
    this.#connection.fail(new LimpetError("STOPPING", "this host is stopping"));
  }

  opened({ address, version }: LinkHello): void {
    this.#shares.log.debug("link.open", { peer: this.#peer, address, version });
  }

  message(kind: number, fields: number, reader: MessageReader): void {
    if (kind === FRAME_KIND.call && (fields === 7 || fields === 10)) this.#called(fields, reader);
    else if (kind === FRAME_KIND.cancel && fields === 2) this.#cancelled(reader.uint());
    else throw broken("a message has an unknown kind or the wrong number of fields");
  }

  wasRead(): void {
    if (this.#uncounted === 0) return;
    this.#shares.calls.add(this.#uncounted);
    this.#uncounted = 0;
  }

  answered(call: ServedCall): void {
    this.#calls.remove(call.number);
    this.#connection.send(call);
    if (this.#calls.size === 0) this.#shares.onIdle();
  }

  closed(reason: LimpetError): void {
    const { log, refusals } = this.#shares;
    const calls = this.#calls.takeAll();
    if (reason.code === "PROTOCOL") refusals.refused({ peer: this.#peer, why: reason.message });
    else log.debug("link.closed", { peer: this.#peer, why: reason.message, calls: calls.length });
    for (const call of calls) this.#giveUp(call);
    this.#shares.onClosed(this);
  }

  #called(fields: number, reader: MessageReader): void {
    const number = reader.uint();
    const type = reader.name();
    const id = reader.text();
    const method = reader.name();
    const timeoutMs = reader.number();
    const args = decodeArguments(reader.primitivesOrText());
    const isPlain = fields === 7;
    const hops = isPlain ? 0 : reader.uint();
    const passOn = isPlain ? false : reader.flag();
    const causes = isPlain ? NO_CAUSES : readCauses(reader);
    if (!(timeoutMs >= 0)) throw broken("a call has an invalid timeout");
    const served = new ServedCall(this, number);
    if (!this.#calls.put(number, served)) throw broken("the number of a call is invalid or in use");
    this.#uncounted++;
    this.#serve({ namespace: this.#namespace, type, id, method, args, timeoutMs, hops, passOn, causes }, served);
  }

  #serve(call: RemoteCall, served: ServedCall): void {
    const { service, log } = this.#shares;
    const problem = nameProblem(call.id, LIMITS.idBytes);
    if (problem !== undefined) {
      served.error(new LimpetError("NAME_INVALID", `actor id ${problem}`));
      return;
    }
    try {
      served.onCancel(service.serve(call, served, this));
    } catch (error) {
      log.error("link.failed", { err: error });
      served.error(new LimpetError("INVARIANT", "internal error in the host; see its log"));
    }
  }

  /** A cancelled call that was answered before is no longer in progress: its answer was final. */
  #cancelled(number: number): void {
    const call = this.#calls.get(number);
    if (call !== undefined) this.#giveUp(call);
    else if (!this.#calls.isNumber(number)) throw broken("a cancellation has an invalid call number");
  }

  #giveUp(call: ServedCall): void {
    try {
      call.giveUp();
    } catch (error) {
      this.#shares.log.error("link.failed", { err: error });
    }
  }
}

function readCauses(reader: MessageReader): readonly RemoteCause[] {
  const length = reader.list();
  if (length % 5 !== 0) throw broken("the causes of a call are incomplete");
  const causes: RemoteCause[] = [];
  for (let i = 0; i < length; i += 5) {
    const host = reader.text();
    const turn = reader.number();
    causes.push({ host, turn, type: reader.name(), id: reader.text(), method: reader.name() });
  }
  return causes;
}
