// Every limit that is not an option. Sizes of names are in UTF-8 bytes.

const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  /** Namespaces, actor types, methods, timer names: words of a program. */
  wordBytes: 128,
  /** Actor ids: words of a user. */
  idBytes: 512,
  /** Nesting of a value in state, arguments or results. Deeper is nearly always a cycle. */
  valueDepth: 200,
  /** Arguments of one call over HTTP. With a hundred thousand the engine's stack is too small to call a method. */
  httpArguments: 65_535,
  /** The whole encoded state of one actor. */
  stateBytes: 16 * MiB,
  /** State up to this size is rewritten whole at each commit; above it, a commit appends what changed. */
  inlineStateBytes: 1 * KiB,
  /** Calls within one call chain that may re-enter actors already in it. */
  reentrancyDepth: 32,
  /** Actors in one call chain. */
  chainDepth: 128,
  /** Commits or takes that share one transaction. */
  batchSize: 512,
  /** Bytes that share one transaction; a single larger commit travels alone. */
  batchBytes: 1 * MiB,
  /** Commits and takes that may wait for the store before calls are turned away. */
  storeQueue: 100_000,
  /** Timers of one activation. */
  timersPerActor: 100,
  /** The arguments of a call, and its result, encoded; the same wherever the actor lives and however it is called. */
  callBytes: 15 * MiB,
  /** The `details` of an error, encoded. Larger ones do not travel. */
  errorDetailsBytes: 16 * KiB,
  /** As large as the arguments of a call. */
  httpBodyBytes: 15 * MiB,
  /** Objects, lists and properties of one body. Each blocks the event loop for about 1 µs. */
  httpBodyParts: 1_000_000,
  /** Different names of properties in one body. Each costs about 5 µs. */
  httpBodyNames: 100_000,
  httpHeaderBytes: 16 * KiB,
  httpHeaderTimeoutMs: 5_000,
  /** Hosts that may turn a call away before its caller is told NOT_SETTLED. */
  hops: 16,
  /** Calls of one type that may wait on a host until it is clear where they go. */
  waitingRoom: 10_000,
  /** One frame of a link. The largest call, with the names of the longest chain, fits. */
  linkFrameBytes: 16 * MiB,
  /** Calls that may wait for their answer on one link. */
  linkCalls: 65_536,
  /** One message of a control stream. A table of 10,000 hosts fits. */
  controlMessageBytes: 4 * MiB,
  /** Parts in which one order with many tables may travel. */
  controlParts: 256,
  /** Messages that may wait until the other end of a control stream reads them. Then it is cut off. */
  controlQueue: 16_384,
  /** One look at the cluster. */
  clusterViewBytes: 64 * MiB,
  /** A sentence that one process tells another: why a stream ends, why a host is removed. Longer ones are cut. */
  reasonBytes: 1 * KiB,
  /** Namespaces one scheduler serves. */
  namespaces: 10_000,
  /** Types one host may report. */
  typesPerHost: 1_000,
  /** Hosts and clients one scheduler serves. */
  controlStreams: 10_000,
  /** Until a connection between processes of a cluster stands, TLS included. */
  clusterConnectMs: 3_000,
  /** Points one host may have on a ring. */
  replicationFactor: 1_000,
  /** Points remembered so that a host's need not be computed again: 12 MB, enough for 10,000 hosts of 100. */
  pointsRemembered: 1_000_000,
  /** Rings remembered so that types with the same hosts share one. */
  ringsRemembered: 16,
  /** Schedulers that may be listed in one store. */
  schedulers: 10_000,
  /** Workers of workflows that may be registered in one namespace: each poll looks at all of them. */
  workers: 5_000,
  /** The description of one worker, as JSON. */
  workerBytes: 256 * KiB,
  /** Fields of its slots or of its process that are kept of a worker's heartbeats. */
  workerFields: 64,
  /** Hosts that may be members in one store. */
  members: 100_000,
  /** Changes of members that are written in one step. */
  memberChanges: 1_000,
  /** Changes of the homes of shards, or of the actors remembered in them, that are written in one step. */
  shardChanges: 1_000,
  /** Sticky actors of one type that one leader keeps track of. */
  stickyActors: 5_000_000,
  /** Questions for sticky actors that may wait for an answer, per type at a host, altogether at a leader. */
  stickyWaiting: 100_000,
  /** Ids, and their bytes, in one message about sticky actors. */
  stickyChunk: 2_000,
  stickyChunkBytes: 256 * KiB,
  /** Owners of sticky actors that a host remembers, per type. */
  stickyRemembered: 100_000,
  /** What one reminder may carry. */
  reminderBytes: 4 * MiB,
  /** One input, result, signal or memo of a workflow. */
  workflowPayloadBytes: 2 * MiB,
  /** One value that a workflow can be found by, as JSON. PostgreSQL has room for 2,700 bytes in an index, its name included. */
  attributeBytes: 2 * KiB,
  /** What reminders that are claimed together may carry in all; a single larger one comes alone. */
  claimBytes: 8 * MiB,
  /** Rows of one page of a listing. */
  listPage: 1_000,
  /** A page that carries so much ends there. */
  listBytes: 4 * MiB,
} as const;
