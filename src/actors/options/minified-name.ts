// Detects class names that a bundler made up. The name of a class is the name of its type in the store: under
// a new name its actors start from nothing, and the rows of the old name are never read. Pure.

/**
 * One or two characters; or three, with a digit or a sign among them; or a leading underscore, which bundlers
 * put before a name.
 */
const MINIFIED = /^(?:[\p{L}_$][\p{L}\p{N}_$]?|(?=.*[\d_$])[\p{L}\p{N}_$]{3}|_\p{Lu}.*)$/u;

export function looksMinified(actorClass: {
  readonly name: string;
  readonly options?: { readonly name?: string };
}): boolean {
  return actorClass.options?.name === undefined && MINIFIED.test(actorClass.name);
}

export const MINIFIED_ADVICE =
  "a bundler seems to have renamed the class, and so its actors in the store; set static options = { name: … }";
