// The operators' requests on the control stream: one row for each kind, with its gRPC method and its codec.
// Client and server use the same rows. Decoding checks every field.
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions, Client, ConnectRouter, MethodImpl } from "@connectrpc/connect";
import type { LeaderAdmin, LeaderAnswer, LeaderRequest } from "../../../ports/admin.ts";
import { Scheduler } from "../../proto/gen/limpet/control/v1/control_pb.js";
import { readId, readWord } from "./checks.ts";
import { readClusterView, writeClusterView } from "./cluster-codec.ts";
import { readShardsView, readSteering, writeShardsView, writeSteering } from "./shards-view-codec.ts";
import { readActorKey, writeActorKey } from "./sticky-codec.ts";
import { readStickyPage, readStickyQuery, writeStickyPage, writeStickyQuery } from "./sticky-page-codec.ts";

type Kind = LeaderRequest["kind"];
type RequestOf<K extends Kind> = Extract<LeaderRequest, { kind: K }>;
type AnswerOf<K extends Kind> = LeaderAnswer<RequestOf<K>>;

interface Codec<K extends Kind, Request extends DescMessage, Answer extends DescMessage> {
  /** The name of the method in the log. */
  readonly label: string;
  readonly method: DescMethodUnary<Request, Answer>;
  /** The answer describes many hosts or shards and may be larger than other messages. */
  readonly isView?: true;
  write(request: RequestOf<K>): MessageInitShape<Request>;
  read(request: MessageShape<Request>): RequestOf<K>;
  writeAnswer(answer: AnswerOf<K>): MessageInitShape<Answer>;
  readAnswer(answer: MessageShape<Answer>, request: RequestOf<K>): AnswerOf<K>;
}

type Guard = <T>(answer: () => Promise<T>) => Promise<T>;

export interface LeaderMethod<K extends Kind> {
  readonly label: string;
  readonly isView: boolean;
  call(client: Client<typeof Scheduler>, request: RequestOf<K>, options: CallOptions): Promise<AnswerOf<K>>;
  /** `guard` turns every failure into a gRPC status. */
  serve(router: ConnectRouter, service: LeaderAdmin, guard: Guard, options: { readonly writeMaxBytes?: number }): void;
}

function method<K extends Kind, Request extends DescMessage, Answer extends DescMessage>(
  codec: Codec<K, Request, Answer>,
): LeaderMethod<K> {
  const { label, method, isView = false } = codec;
  type Send = (request: MessageInitShape<Request>, options: CallOptions) => Promise<MessageShape<Answer>>;
  return {
    label,
    isView,
    async call(client, request, options) {
      const send = client[method.localName as keyof typeof client] as unknown as Send;
      return codec.readAnswer(await send(codec.write(request), options), request);
    },
    serve(router, service, guard, options) {
      const serve = (request: MessageShape<Request>) =>
        guard(async () => codec.writeAnswer(await service.admin(codec.read(request))));
      router.rpc(method, serve as MethodImpl<typeof method>, options);
    },
  };
}

/** An answer without content. */
const DONE = { writeAnswer: () => ({}), readAnswer: () => undefined };

const rpc = Scheduler.method;

export const LEADER_METHODS: { readonly [K in Kind]: LeaderMethod<K> } = {
  cluster: method({
    label: "describe",
    method: rpc.describeCluster,
    isView: true,
    write: () => ({}),
    read: () => ({ kind: "cluster" }),
    writeAnswer: writeClusterView,
    readAnswer: readClusterView,
  }),
  drain: method({
    label: "drain",
    method: rpc.drainHost,
    write: ({ host }) => ({ host }),
    read: ({ host }) => ({ kind: "drain", host: readId(host, "the host to drain") }),
    ...DONE,
  }),
  sticky: method({
    label: "sticky",
    method: rpc.listSticky,
    write: ({ namespace, query }) => writeStickyQuery(namespace, query),
    read: (request) => ({ kind: "sticky", ...readStickyQuery(request) }),
    writeAnswer: writeStickyPage,
    readAnswer: readStickyPage,
  }),
  release: method({
    label: "release",
    method: rpc.releaseSticky,
    write: ({ namespace, type, id }) => ({ namespace, actorKey: writeActorKey({ type, id }) }),
    read: ({ namespace, actorKey }) => {
      const { type, id } = readActorKey(actorKey);
      return { kind: "release", namespace: readWord(namespace, "namespace"), type, id };
    },
    ...DONE,
  }),
  shards: method({
    label: "shards",
    method: rpc.describeShards,
    isView: true,
    write: ({ namespace, type }) => ({ namespace, actorType: type }),
    read: ({ namespace, actorType }) => {
      return { kind: "shards", namespace: readWord(namespace, "namespace"), type: readWord(actorType, "actor type") };
    },
    writeAnswer: writeShardsView,
    readAnswer: (answer, { type }) => readShardsView(type, answer),
  }),
  steerShards: method({
    label: "steer",
    method: rpc.steerShards,
    write: ({ namespace, type, steering }) => writeSteering(namespace, type, steering),
    read: (request) => ({ kind: "steerShards", ...readSteering(request) }),
    ...DONE,
  }),
};

interface Caller<R extends LeaderRequest> {
  readonly isView: boolean;
  call(client: Client<typeof Scheduler>, request: R, options: CallOptions): Promise<LeaderAnswer<R>>;
}

/** The kind of a request and its row belong together, which the type checker cannot see. */
export const leaderMethod = <R extends LeaderRequest>({ kind }: R): Caller<R> =>
  LEADER_METHODS[kind] as unknown as Caller<R>;
