// Detects a peer that is gone without closing its connection: a machine without power, a cut cable. A
// connection that received nothing since the last check gets a ping. Silence is counted in checks and not by
// the clock, so a process that slept or was busy does not blame its peers.
import type { Http2Session } from "node:http2";
import { LimpetError } from "../../kernel/errors.ts";
import type { ControlLimits } from "./limits.ts";

export interface Watched {
  /** The name of the peer in the error. */
  readonly who: string;
  /** False for a long time: the connection may be closed. */
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
      session.destroy(new LimpetError("UNREACHABLE", `${who} no longer answers`));
    } else if (unused >= limits.idleTicks) {
      session.close();
    } else if (silent > 0 && !session.closed && !session.connecting) {
      // Any received byte is a sign of life; a failed ping adds no information.
      session.ping(() => {});
    }
  };
  const timer = setInterval(look, limits.tickMs);
  timer.unref();
  session.once("close", () => clearInterval(timer));
}
