// Limpet: cost of a task with its run in memory, for short and long histories. Bytes are the traffic on the
// connections to the store, in both directions.
import { Socket } from "node:net";
import type { Make, Measurement } from "../case.ts";
import { spreadOf } from "../report/statistics.ts";
import { BYTES_LONG, BYTES_RATIO, BYTES_SHORT, WAKE_LONG, WAKE_RATIO, WAKE_SHORT } from "./figures.ts";
import { open, storeOf } from "./ours.ts";
import { record } from "./ours-replay.ts";
import type { Sleeper } from "./replay.ts";

const sockets = new Set<Socket>();
const { connect } = Socket.prototype;
Socket.prototype.connect = function (this: Socket, ...options: unknown[]) {
  sockets.add(this);
  return Reflect.apply(connect, this, options);
} as typeof connect;

const bytesSoFar = (): number => [...sockets].reduce((sum, one) => sum + one.bytesRead + one.bytesWritten, 0);

/** All messages of a task are sent by then: the run goes idle after its code has continued. */
const SILENT_MS = 5;

async function silence(): Promise<void> {
  for (let before = -1; before !== bytesSoFar(); ) {
    before = bytesSoFar();
    await new Promise((resolve) => setTimeout(resolve, SILENT_MS));
  }
}

export const sticky: Make = async (settings) => {
  const { quick, params } = settings;
  const app = await open(storeOf(settings));
  const short = await record(app, Number(params.short));
  const long = await record(app, Number(quick ? params.quickLong : params.long));
  const wakes = Number(quick ? params.quickWakes : params.wakes);

  const once = async (sleeper: Sleeper) => {
    const before = bytesSoFar();
    const ms = await sleeper.wake();
    await silence();
    return { ms, bytes: bytesSoFar() - before };
  };
  const measure = async (): Promise<Measurement> => {
    const took: Record<"short" | "long", { ms: number; bytes: number }[]> = { short: [], long: [] };
    // In turn, so that a busy moment of the machine affects both.
    for (let i = 0; i < wakes; i++) {
      took.short.push(await once(short));
      took.long.push(await once(long));
    }
    const middle = (of: "short" | "long", what: "ms" | "bytes") => spreadOf(took[of].map((one) => one[what]))!.median;
    return {
      [WAKE_SHORT]: middle("short", "ms"),
      [WAKE_LONG]: middle("long", "ms"),
      [WAKE_RATIO]: middle("long", "ms") / middle("short", "ms"),
      [BYTES_SHORT]: middle("short", "bytes"),
      [BYTES_LONG]: middle("long", "bytes"),
      [BYTES_RATIO]: middle("long", "bytes") / middle("short", "bytes"),
    };
  };
  await measure();
  return { run: measure, close: () => app.stop() };
};
