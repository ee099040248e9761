// Every limit that is not an option. Sizes of names are in UTF-8 bytes.

const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  /** Namespaces, actor types, methods and timer names, which programs choose. */
  wordBytes: 128,
  /** Actor ids, which users choose. */
  idBytes: 512,
  /** Nesting of a value in state, arguments or results. Deeper nesting is nearly always a cycle. */
  valueDepth: 200,
  /**
   * Arguments of one call over HTTP. With a hundred thousand the engine's stack is too small to call a
   * method.
   */
  httpArguments: 65_535,
  /** The whole encoded state of one actor. */
  stateBytes: 16 * MiB,
  /** State up to this size is rewritten whole at each commit; above it, a commit appends the changes. */
  inlineStateBytes: 1 * KiB,
  /** Re-entrant calls within one call chain. */
  reentrancyDepth: 32,
  /** Actors in one call chain. */
  chainDepth: 128,
  /** Commits or takes that share one transaction. */
  batchSize: 512,
  /** Bytes that share one transaction; a single larger commit travels alone. */
  batchBytes: 1 * MiB,
  /** Commits and takes that may wait for the store before calls are rejected. */
  storeQueue: 100_000,
  /** Timers of one activation. */
  timersPerActor: 100,
  /** The encoded arguments of a call, and its encoded result; the same for every location and transport. */
  callBytes: 15 * MiB,
  /** The encoded `details` of an error. Larger ones are not sent. */
  errorDetailsBytes: 16 * KiB,
  /** As large as the arguments of a call. */
  httpBodyBytes: 15 * MiB,
  /** Objects, lists and properties of one body. Each blocks the event loop for about 1 µs. */
  httpBodyParts: 1_000_000,
  /** Different names of properties in one body. Each costs about 5 µs. */
  httpBodyNames: 100_000,
  httpHeaderBytes: 16 * KiB,
  httpHeaderTimeoutMs: 5_000,
  /** Hosts that may reject a call as "not owner" before its caller gets NOT_SETTLED. */
  hops: 16,
  /** Calls of one type that may wait on a host for their route. */
  waitingCalls: 10_000,
  /** One frame of a link. The largest call, with the names of the longest chain, fits. */
  linkFrameBytes: 16 * MiB,
  /** Calls that may wait for their answer on one link. */
  linkCalls: 65_536,
  /** One message of a control stream. A table of 10,000 hosts fits. */
  controlMessageBytes: 4 * MiB,
  /** Parts of one order with many tables. */
  controlParts: 256,
  /** Messages that may wait for the peer of a control stream to read. Above it the stream is closed. */
  controlQueue: 16_384,
  /** One view of the cluster. */
  clusterViewBytes: 64 * MiB,
  /**
   * A reason that one process sends to another: the end of a stream, the removal of a host. Longer ones are
   * cut.
   */
  reasonBytes: 1 * KiB,
  /** Namespaces of one scheduler. */
  namespaces: 10_000,
  /** Types that one host may report. */
  typesPerHost: 1_000,
  /** Hosts and clients of one scheduler. */
  controlStreams: 10_000,
  /** Time to connect between processes of a cluster, including TLS. */
  clusterConnectMs: 3_000,
  /** Points of one host on a ring. */
  replicationFactor: 1_000,
  /**
   * Cached ring points, so that a host's points need not be computed again: 12 MB, enough for 10,000 hosts of
   * 100.
   */
  pointsRemembered: 1_000_000,
  /** Cached rings, so that types with the same hosts share one. */
  ringsRemembered: 16,
  /** Schedulers that may be listed in one store. */
  schedulers: 10_000,
  /** Workflow workers that may be registered in one namespace: each poll reads all of them. */
  workers: 5_000,
  /** The description of one worker, as JSON. */
  workerBytes: 256 * KiB,
  /** Stored fields of the slots or of the process in a worker's heartbeat. */
  workerFields: 64,
  /** Hosts that may be members in one store. */
  members: 100_000,
  /** Changes of members in one write. */
  memberChanges: 1_000,
  /** Changes of shard homes, or of remembered actors, in one write. */
  shardChanges: 1_000,
  /** Sticky actors of one type that one leader tracks. */
  stickyActors: 5_000_000,
  /** Requests for sticky actors that may wait for an answer: per type at a host, in total at a leader. */
  stickyWaiting: 100_000,
  /** Ids, and their bytes, in one message about sticky actors. */
  stickyChunk: 2_000,
  stickyChunkBytes: 256 * KiB,
  /** Cached owners of sticky actors per type at a host. */
  stickyRemembered: 100_000,
  /** The data of one reminder. */
  reminderBytes: 4 * MiB,
  /** One input, result, signal or memo of a workflow. */
  workflowPayloadBytes: 2 * MiB,
  /**
   * One search attribute of a workflow, as JSON. A PostgreSQL index entry has at most 2,700 bytes, including
   * the name.
   */
  attributeBytes: 2 * KiB,
  /** Total data of reminders in one claim; a single larger one is claimed alone. */
  claimBytes: 8 * MiB,
  /** Rows of one page of a listing. */
  listPage: 1_000,
  /** A page ends when it carries this many bytes. */
  listBytes: 4 * MiB,
} as const;
