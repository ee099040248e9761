// Loads the library of the control stream and the modules built on it in portions. Loading all of it at once
// would block the process for more than a tenth of a second, while its actors already receive calls.
import { setTimeout as pause } from "node:timers/promises";

/** Each portion loads about the same amount of new code. */
const PORTIONS: readonly (() => Promise<unknown>)[] = [
  () => import("@bufbuild/protobuf/wire"),
  () => import("@bufbuild/protobuf/reflect"),
  () => import("@bufbuild/protobuf/codegenv2"),
  () => import("@bufbuild/protobuf/wkt"),
  () => import("@bufbuild/protobuf"),
  () => import("@connectrpc/connect"),
  () => import("@connectrpc/connect/protocol-grpc"),
  () => import("@connectrpc/connect/protocol-connect"),
  () => import("@connectrpc/connect-node"),
  () => import("../proto/gen/limpet/control/v1/control_pb.js"),
  () => import("./server/methods.ts"),
  () => import("./server/server.ts"),
];
/** Pause between portions for other work. */
const PAUSE_MS = 10;

export async function loadInPortions(): Promise<void> {
  for (const load of PORTIONS) {
    await load();
    await pause(PAUSE_MS, undefined, { ref: false });
  }
}
