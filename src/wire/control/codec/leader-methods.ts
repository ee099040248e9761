// The operators' requests on the control stream: one row for each kind, with its gRPC method and its codec.
// Client and server use the same rows. Decoding checks every field.
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions, Client, ConnectRouter, MethodImpl } from "@connectrpc/connect";
import type { LeaderAdmin, LeaderAnswer, LeaderRequest } from "../../../ports/admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { CLUSTER_VIEW } from "./cluster-codec.ts";
import { type Codec, message } from "./codec.ts";
import { SHARDS_VIEW, STEERING } from "./shards-view-codec.ts";
import { REQUIRED_KEY } from "./sticky-codec.ts";
import { STICKY_PAGE, STICKY_QUERY } from "./sticky-page-codec.ts";
import { id, NAMESPACE, TYPE } from "./value-codecs.ts";

type Scheduler = typeof proto.Scheduler;

type Kind = LeaderRequest["kind"];
type RequestOf<K extends Kind> = Extract<LeaderRequest, { kind: K }>;
type AnswerOf<K extends Kind> = LeaderAnswer<RequestOf<K>>;

interface Row<K extends Kind, Request extends DescMessage, Answer extends DescMessage> {
  /** The name of the method in the log. */
  readonly label: string;
  readonly method: DescMethodUnary<Request, Answer>;
  /** The answer describes many hosts or shards and may be larger than other messages. */
  readonly isView?: boolean;
  readonly request: Codec<Omit<RequestOf<K>, "kind">, MessageShape<Request>>;
  readonly answer: {
    readonly write: (answer: AnswerOf<K>) => MessageInitShape<Answer>;
    readonly read: (wire: MessageShape<Answer>, request: RequestOf<K>) => AnswerOf<K>;
  };
}

type Guard = <T>(answer: () => Promise<T>) => Promise<T>;

export interface LeaderMethod<K extends Kind> {
  readonly label: string;
  readonly isView: boolean;
  call(client: Client<Scheduler>, request: RequestOf<K>, options: CallOptions): Promise<AnswerOf<K>>;
  /** `guard` turns every failure into a gRPC status. */
  serve(router: ConnectRouter, service: LeaderAdmin, guard: Guard, options: { readonly writeMaxBytes?: number }): void;
}

function method<K extends Kind, Request extends DescMessage, Answer extends DescMessage>(
  kind: K,
  { label, method, isView = false, request: { write, read }, answer }: Row<K, Request, Answer>,
): LeaderMethod<K> {
  type Send = (request: MessageShape<Request>, options: CallOptions) => Promise<MessageShape<Answer>>;
  return {
    label,
    isView,
    async call(client, request, options) {
      const send = client[method.localName as keyof typeof client] as unknown as Send;
      return answer.read(await send(write(request), options), request);
    },
    serve(router, service, guard, options) {
      const serve = (request: MessageShape<Request>) =>
        guard(async () => answer.write(await service.admin({ kind, ...read(request) } as RequestOf<K>)));
      router.rpc(method, serve as MethodImpl<typeof method>, options);
    },
  };
}

/** An answer without content. */
const DONE = { write: () => ({}), read: () => undefined };

const rpc = proto.Scheduler.method;

export const LEADER_METHODS: { readonly [K in Kind]: LeaderMethod<K> } = {
  cluster: method("cluster", {
    label: "describe",
    method: rpc.describeCluster,
    isView: true,
    request: message(proto.DescribeClusterRequestSchema, {}),
    answer: CLUSTER_VIEW,
  }),
  drain: method("drain", {
    label: "drain",
    method: rpc.drainHost,
    request: message(proto.DrainHostRequestSchema, { host: id("the host to drain") }),
    answer: DONE,
  }),
  sticky: method("sticky", {
    label: "sticky",
    method: rpc.listSticky,
    request: STICKY_QUERY,
    answer: STICKY_PAGE,
  }),
  release: method("release", {
    label: "release",
    method: rpc.releaseSticky,
    request: message(proto.ReleaseStickyRequestSchema, { namespace: NAMESPACE }, ["actorKey", REQUIRED_KEY]),
    answer: DONE,
  }),
  shards: method("shards", {
    label: "shards",
    method: rpc.describeShards,
    isView: true,
    request: message(proto.DescribeShardsRequestSchema, { namespace: NAMESPACE, type: ["actorType", TYPE] }),
    answer: { write: SHARDS_VIEW.write, read: (view, { type }) => ({ type, ...SHARDS_VIEW.read(view) }) },
  }),
  steerShards: method("steerShards", {
    label: "steer",
    method: rpc.steerShards,
    request: STEERING,
    answer: DONE,
  }),
};

interface Caller<R extends LeaderRequest> {
  readonly isView: boolean;
  call(client: Client<Scheduler>, request: R, options: CallOptions): Promise<LeaderAnswer<R>>;
}

/** The kind of a request and its row belong together, which the type checker cannot see. */
export const leaderMethod = <R extends LeaderRequest>({ kind }: R): Caller<R> =>
  LEADER_METHODS[kind] as unknown as Caller<R>;
