// Attributes as searchable words: a name and the JSON of its value. The database compares words and parses no
// JSON: it would reject valid texts (a NUL in a string).

type Plain = string | number | boolean;

/** The length keeps name and value apart. */
const tag = ([name, value]: readonly [string, unknown]): string => `${name.length}:${name}${JSON.stringify(value)}`;

export const tagsOf = (attributes: Readonly<Record<string, Plain>>): string[] => Object.entries(attributes).map(tag);

/** An array in PostgreSQL's text format; undefined when there are no tags. */
export function tagsText(attributes: string): string | undefined {
  if (attributes === "{}" || attributes === "") return undefined;
  const tags = tagsOf(JSON.parse(attributes) as Record<string, Plain>);
  return tags.length === 0 ? undefined : arrayText(tags);
}

export const arrayText = (words: readonly string[]): string =>
  `{${words.map((word) => `"${word.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
