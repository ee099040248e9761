// Bugs after which messages of an earlier term, stream or move still count when they arrive late.
import type { Bug, Change } from "./bug.ts";

/** The leader still reads the old stream of a host that has a new one. */
const OLD_STREAM_COUNTS: Change = {
  file: "src/placement/model/connection-controller.ts",
  before: `this.#byStream.set(stream, host);
    return { kind: "welcome", host, stale };`,
  after: `this.#byStream.set(stream, host);
    if (stale !== undefined) this.#byStream.set(stale, host);
    return { kind: "welcome", host, stale: undefined };`,
};

/** A host opens a stream to the new leader and still reads the old one. */
const OLD_LEADER_COUNTS: readonly Change[] = [
  {
    file: "src/placement/leader/election.ts",
    before: "this.#remote?.close();\n    this.#remote = undefined;",
    after: "this.#remote = undefined;",
  },
  {
    file: "src/placement/host/membership.ts",
    before: "if (this.#stream === undefined) this.#connect();",
    after: `this.#stream = undefined;
    this.#connect();`,
  },
  {
    file: "src/placement/host/membership.ts",
    before: "if (this.#stream !== stream || this.#stopped) return;\n    switch (message.kind) {",
    after: "if (this.#stopped) return;\n    switch (message.kind) {",
  },
];

export const LATE_MESSAGES: readonly Bug[] = [
  {
    name: "leader-accepts-an-old-stream",
    family: "late messages",
    story:
      "The leader does not close the old stream of a host that has a new one. A late message on the old stream counts: a type that the host has added again is removed once more, and the host waits for its table for ever.",
    knownFrom: "a fault of our own simulator",
    guard: "src/placement/model/connection-controller.test.ts",
    changes: [OLD_STREAM_COUNTS],
  },
  {
    name: "shard-stopped-of-an-earlier-move",
    family: "late messages",
    story:
      "The leader reads old streams and does not compare the numbers of moves. A report that a host has stopped a shard for an earlier move counts for the current one: the shard gets a second home while its actors still run at the first.",
    knownFrom: "a mutation that no unit test noticed",
    guard: "src/sharding/model/type-shards.test.ts",
    changes: [
      OLD_STREAM_COUNTS,
      {
        file: "src/sharding/model/type-shards.ts",
        before: `if (busy?.phase !== "stopping" || busy.move?.number !== move || busy.move.from !== host)`,
        after: `if (busy?.phase !== "stopping" || busy.move?.from !== host)`,
      },
    ],
  },
  {
    name: "table-of-an-older-term",
    family: "late messages",
    story:
      "A host opens a stream to the new leader, keeps the old one, and compares neither terms nor versions. A late table of the previous leader replaces that of the new one: the host calls and activates actors by a table that no other host has.",
    knownFrom: "a fault of our own simulator",
    guard: "src/placement/model/host-tables.test.ts",
    changes: [
      ...OLD_LEADER_COUNTS,
      {
        file: "src/placement/model/host-tables.ts",
        before: "if (term < this.#term) return false;",
        after: "",
      },
      {
        file: "src/placement/model/host-tables.ts",
        before: `const newer = compareVersions(table.version, state.newest?.version ?? NO_VERSION) > 0;
      if (newer) this.#replace(`,
        after: "this.#replace(",
      },
    ],
  },
];
