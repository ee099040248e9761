// Orders the versions of tables. A term belongs to one leader, and a later leader overrides an earlier one;
// within a term the leader counts. Versions are compared only here.

export interface TableVersion {
  readonly term: number;
  readonly number: number;
}

/** Older than every table. */
export const NO_VERSION: TableVersion = { term: 0, number: 0 };

/** Below zero: `a` is older. */
export function compareVersions(a: TableVersion, b: TableVersion): number {
  return a.term - b.term || a.number - b.number;
}

export const sameVersion = (a: TableVersion, b: TableVersion): boolean => compareVersions(a, b) === 0;

/** For display: `12`, or `12 of term 3`. */
export const showVersion = ({ term, number }: TableVersion): string => `${number} of term ${term}`;
