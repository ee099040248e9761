// Notices that the other end of a connection is gone although nobody said so: a machine without power, a cut cable.
// A connection on which nothing came in since the last look is asked for a sign of life. Silence is counted in looks and
// not by the clock, so that a process that slept or was busy itself does not blame the others.
import type { Http2Session } from "node:http2";
import { LimpetError } from "../../kernel/errors.ts";
import type { ControlLimits } from "./limits.ts";

export interface Watched {
  /** How it is named when it is given up. */
  readonly who: string;
  /** False: it may be closed when that has lasted. */
  readonly inUse: () => boolean;
}

export function keepAlive(session: Http2Session, { who, inUse }: Watched, limits: ControlLimits): void {
  let silent = 0;
  let unused = 0;
  let seen: number | undefined = -1;
  const look = () => {
    if (session.destroyed) return;
    const bytesRead = session.socket?.bytesRead;
    silent = bytesRead === seen ? silent + 1 : 0;
    seen = bytesRead;
    unused = inUse() ? 0 : unused + 1;
    if (silent >= limits.silentTicks) {
      session.destroy(new LimpetError("UNREACHABLE", `${who} does not answer any more`));
    } else if (unused >= limits.idleTicks) {
      session.close();
    } else if (silent > 0 && !session.closed && !session.connecting) {
      // Whatever comes back is a sign of life; that the ping itself failed says nothing more.
      session.ping(() => {});
    }
  };
  const timer = setInterval(look, limits.tickMs);
  timer.unref();
  session.once("close", () => clearInterval(timer));
}
