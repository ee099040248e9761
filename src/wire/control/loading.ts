// Loads the library of the control stream and what is built on it, bit by bit. All of it at once would keep a process from doing anything
// else for more than a tenth of a second, in which its actors are called already.
import { setTimeout as pause } from "node:timers/promises";

/** What each brings that those before it have not: about as much everywhere. */
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
  () => import("./methods.ts"),
  () => import("./server.ts"),
];
/** What has gathered meanwhile is done in between. */
const PAUSE_MS = 10;

export async function loadInPortions(): Promise<void> {
  for (const load of PORTIONS) {
    await load();
    await pause(PAUSE_MS, undefined, { ref: false });
  }
}
