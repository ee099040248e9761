// Types for what may be left out where there is nothing to say: the input of a workflow, a signal or a question that takes none.

/** As an argument. */
export type InputArgument<Input> = undefined extends Input ? [input?: Input] : [input: Input];

/** As a field. */
export type InputField<Input> = undefined extends Input ? { readonly input?: Input } : { readonly input: Input };

/** Options with that field; they may be left out themselves where it may. */
export type InputOptions<Input, Options> = undefined extends Input
  ? [options?: Options & InputField<Input>]
  : [options: Options & InputField<Input>];

/**
 * The definition that a call is about. A call has two type parameters, so that it needs one signature only: an overload for names would
 * hide the errors of a call with a definition. `Explicit`: the type argument that a caller wrote, either the type of a definition or of the
 * result of a name; `unknown` without one. `Given`: the type of the first argument.
 */
export type Chosen<Explicit, Given, Definition> = unknown extends Explicit
  ? Given
  : [Explicit] extends [never]
    ? Given
    : [Explicit] extends [Definition]
      ? Explicit
      : Given;
