// Types for what may be left out where there is nothing to say: the input of a workflow, a signal or a question that takes none.

/** As an argument. */
export type InputArgument<Input> = undefined extends Input ? [input?: Input] : [input: Input];

/** As a field. */
export type InputField<Input> = undefined extends Input ? { readonly input?: Input } : { readonly input: Input };

/** Options with that field; they may be left out themselves where it may. */
export type InputOptions<Input, Options> = undefined extends Input
  ? [options?: Options & InputField<Input>]
  : [options: Options & InputField<Input>];
