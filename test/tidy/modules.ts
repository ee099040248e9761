// The modules of src and the imports that each may have. Inner modules never import outer ones; features know
// each other only through ports. `rules.ts` counts the imports that still break this.

/** What Limpet does: each has its pure model, its drivers and its operations in one folder. */
export const FEATURES: readonly string[] = [
  "actors",
  "placement",
  "sharding",
  "reminders",
  "workflows",
  "http-workers",
];
const INNER = ["kernel", "ports"];
const OUTER = ["stores", "wire", "observe", "config"];

/** The modules that the files of a module may import, besides their own. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  // Types of ports only.
  kernel: ["ports"],
  ports: ["kernel"],
  ...Object.fromEntries(FEATURES.map((feature) => [feature, INNER])),
  "http-workers": [...INNER, "workflows", "wire"],
  stores: INNER,
  // The host injects the routes of HTTP workers.
  wire: [...INNER, ...FEATURES.filter((feature) => feature !== "http-workers")],
  observe: INNER,
  config: INNER,
  admin: [...INNER, ...FEATURES],
  host: [...INNER, ...FEATURES, ...OUTER, "admin"],
  world: [...INNER, ...FEATURES, ...OUTER, "host"],
  testing: [...INNER, ...FEATURES, ...OUTER, "host", "world"],
  entry: [...INNER, ...FEATURES, ...OUTER, "host", "world", "testing"],
  cli: [...INNER, ...FEATURES, ...OUTER, "host", "entry"],
};
