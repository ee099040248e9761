// The types of signals, queries and updates, by a definition or by a name alone. Each call has one
// signature: an overload for names would hide the errors of a call with a definition. Types alone.
//
// `Given`: the type of the first argument. The other parameters are the type arguments that a caller
// wrote, or that follow from a handler; they count for names only.
import type { InputArgument } from "../../kernel/input-types.ts";
import type { QueryName, SignalName, UpdateName } from "./definition.ts";

export type AnySignal = SignalName<unknown> | string;
export type AnyQuery = QueryName<unknown, never> | string;
export type AnyUpdate = UpdateName<unknown, never> | string;

/** The input of a name: it may be left out where the caller named no type. */
type InputOfName<Input> = unknown extends Input ? [input?: unknown] : InputArgument<Input>;

/** The arguments after a signal. */
export type SignalInput<Input, Given> = [Given] extends [SignalName<infer Known>]
  ? InputArgument<Known>
  : InputOfName<Input>;

/** The input that a run gets with a signal. */
export type SignalValue<Input, Given> = [Given] extends [SignalName<infer Known>] ? Known : Input;

/** The arguments after a query. */
export type QueryInput<Input, Given> = [Given] extends [QueryName<infer _Answer, infer Known>]
  ? InputArgument<Known>
  : InputOfName<Input>;

export type QueryAnswer<Answer, Given> = [Given] extends [QueryName<infer Known, infer _Input>] ? Known : Answer;

/** The arguments after an update. */
export type UpdateArguments<Input, Given, Options> = [Given] extends [UpdateName<infer _Answer, infer Known>]
  ? WithOptions<Known, Options>
  : unknown extends Input
    ? [input?: unknown, options?: Options]
    : WithOptions<Input, Options>;

type WithOptions<Input, Options> = undefined extends Input
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options];

export type UpdateAnswer<Answer, Given> = [Given] extends [UpdateName<infer Known, infer _Input>] ? Known : Answer;

export type QueryFunction<Answer, Input, Given> = [Given] extends [QueryName<infer Known, infer Asked>]
  ? (input: Asked) => Known
  : (input: Input) => Answer;

export type UpdateFunction<Answer, Input, Given> = [Given] extends [UpdateName<infer Known, infer Asked>]
  ? (input: Asked) => Promise<Known> | Known
  : (input: Input) => Promise<Answer> | Answer;

export type UpdateValidator<Input, Given> = [Given] extends [UpdateName<infer _Answer, infer Asked>]
  ? (input: Asked) => void
  : (input: Input) => void;
