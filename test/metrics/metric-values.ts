// Reads values out of the text that `app.metrics()` gives.

/** The sum of the samples of `name` whose labels contain all of `labels`; undefined when there is none. */
export function metricValue(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const values = text
    .split("\n")
    .map((line) => /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line))
    .filter((match) => match !== null)
    .filter(([, found, shown = ""]) => found === name && wanted.every((label) => shown.includes(label)))
    .map(([, , , value]) => Number(value));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}
