// A call to a method that this host does not have. During a rollout another host may have it: then the caller
// may retry later. This host asks the other hosts of the type over the links, and only after a failure.
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Links, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import type { Turn } from "../activation/turn.ts";

/** The name under which a host asks another one whether its code has a method. No caller can use it. */
export const HAS_METHOD = "$has";

/**
 * The method is missing in the class itself: nothing of the call has run. Errors that a method lets through
 * are plain.
 */
export class MissingMethod extends LimpetError {
  constructor(type: string, method: string, known: Iterable<string>) {
    const names = [...known].join(", ") || "none";
    super("METHOD_UNKNOWN", `${type} has no method "${method}"; it has: ${names}`);
  }
}

export interface MethodQuestions {
  readonly namespace: string;
  readonly clock: Clock;
  readonly links: Links;
  /** Addresses of the other hosts of a type. */
  hostsOf(type: string): readonly string[];
}

/** Other hosts answer within this, or count as hosts without the method. */
const ANSWER_MS = 1_000;
/** The most hosts to ask. A new version is soon on many hosts. */
const MOST_HOSTS = 16;
/**
 * An answer is cached for this long, so that a caller that repeats a mistake does not keep the links busy.
 */
const KEPT_MS = 5_000;
const MOST_KEPT = 1_000;

interface Known {
  readonly answer: Promise<string | undefined>;
  /** On the monotonic clock. */
  readonly until: number;
}

export class MissingMethods {
  readonly #questions: MethodQuestions;
  readonly #known = new Map<string, Known>();

  constructor(questions: MethodQuestions) {
    this.#questions = questions;
  }

  /** Fails the turn once it is clear whether another host has the method. */
  answer(turn: Turn, missing: MissingMethod): void {
    void this.#find(turn).then((host) => turn.fail(host === undefined ? missing : elsewhere(turn, host, missing)));
  }

  #find({ type, id, method }: Turn): Promise<string | undefined> {
    const now = this.#questions.clock.monotonic();
    const key = `${type.name.length}:${type.name}${method}`;
    const known = this.#known.get(key);
    if (known !== undefined && known.until > now) return known.answer;
    if (this.#known.size >= MOST_KEPT) this.#known.clear();
    const answer = this.#ask(type.name, id, method);
    this.#known.set(key, { answer, until: now + KEPT_MS });
    return answer;
  }

  #ask(type: string, id: string, method: string): Promise<string | undefined> {
    const { namespace, clock, links, hostsOf } = this.#questions;
    const hosts = hostsOf(type).slice(0, MOST_HOSTS);
    // The actor lives here. A host of an earlier release takes the question for a call, and answers that it
    // is not the owner.
    const call: RemoteCall = {
      namespace,
      type,
      id,
      method: HAS_METHOD,
      args: [method],
      timeoutMs: ANSWER_MS,
      hops: 0,
      passOn: false,
      causes: [],
    };
    return new Promise((resolve) => {
      let open = hosts.length;
      if (open === 0) resolve(undefined);
      const late = clock.after(ANSWER_MS, () => resolve(undefined));
      const onAnswer = (host: string, hasIt: boolean): void => {
        open--;
        if (hasIt) resolve(host);
        else if (open === 0) resolve(undefined);
        if (open === 0) late.cancel();
      };
      for (const host of hosts)
        links.call(
          host,
          call,
          asking((hasIt) => onAnswer(host, hasIt)),
        );
      if (open === 0) late.cancel();
    });
  }
}

/** Any answer other than yes counts as no. */
function asking(onAnswer: (hasIt: boolean) => void): RemoteCaller {
  const no = (): void => onAnswer(false);
  return { value: (result) => onAnswer(result === true), error: no, notOwner: no, unsent: no, lost: no };
}

function elsewhere(turn: Turn, host: string, missing: MissingMethod): LimpetError {
  const what = `the host of ${turn.type.name}/${turn.id} has no method "${turn.method}", but ${host} has it`;
  return new LimpetError("METHOD_ELSEWHERE", `${what}; try again when all hosts run the same code`, { cause: missing });
}
