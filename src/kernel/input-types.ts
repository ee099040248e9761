// Types for optional input: a workflow, signal or query without input may omit it.

/** The input as an argument. */
export type InputArgument<Input> = undefined extends Input ? [input?: Input] : [input: Input];

/** The input as a field. */
export type InputField<Input> = undefined extends Input ? { readonly input?: Input } : { readonly input: Input };

/** Options with the input as a field; the options may be omitted when the input may. */
export type InputOptions<Input, Options> = undefined extends Input
  ? [options?: Options & InputField<Input>]
  : [options: Options & InputField<Input>];

/**
 * The definition that a call uses. A call has two type parameters, so that it needs only one signature: an
 * overload for names would hide the errors of a call with a definition. `Explicit`: the type argument of the
 * caller, either the type of a definition or of the result of a name; `unknown` without one. `Given`: the
 * type of the first argument.
 */
export type Chosen<Explicit, Given, Definition> = unknown extends Explicit
  ? Given
  : [Explicit] extends [never]
    ? Given
    : [Explicit] extends [Definition]
      ? Explicit
      : Given;
