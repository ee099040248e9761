// The handshake of a link on loopback without a cluster key. Both sides prove that they know the secret of
// the store. After that the link is not encrypted: other users of a machine cannot read its loopback traffic,
// and TLS would halve the throughput of large calls.
//
// The client sends a mark and a nonce; the server answers with its own nonce and its proof; the client sends
// its proof. A proof is an HMAC over both nonces and both ends of the TCP connection, so a relayed connection
// fails on both sides.
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";

/** No TLS record and no link frame begins with these bytes. */
const MARK = Buffer.from("LIMPET-1");
const NONCE_BYTES = 32;
const PROOF_BYTES = 32;

export type ProofOutcome = (problem: string | undefined) => void;

interface Exchange {
  readonly client: Buffer;
  readonly server: Buffer;
  /** Both ends of the connection, the client's first. */
  readonly ends: string;
}

/**
 * `done` is called at most once, and never after the returned function was called. It is not called when the
 * socket closes before.
 */
export function proveAsClient(socket: Socket, secret: string, done: ProofOutcome): () => void {
  const nonce = randomBytes(NONCE_BYTES);
  socket.write(Buffer.concat([MARK, nonce]));
  const answered: Step = {
    bytes: NONCE_BYTES + PROOF_BYTES,
    take(answer) {
      const ends = endsOf([socket.localAddress, socket.localPort], [socket.remoteAddress, socket.remotePort]);
      const exchange = { client: nonce, server: answer.subarray(0, NONCE_BYTES), ends };
      const isProven = isSame(answer.subarray(NONCE_BYTES), proofOf(secret, "server", exchange));
      if (isProven) socket.write(proofOf(secret, "client", exchange));
      done(isProven ? undefined : "does not know the secret of this process's store");
      return undefined;
    },
  };
  return readSteps(socket, answered);
}

export function proveAsServer(socket: Socket, secret: string, done: ProofOutcome): () => void {
  const marked: Step = {
    // Read separately, so the first bytes identify a client of another protocol.
    bytes: MARK.length,
    take(mark) {
      if (isSame(mark, MARK)) return opened;
      done("it offers no proof that it knows the secret of the store");
      return undefined;
    },
  };
  const opened: Step = {
    bytes: NONCE_BYTES,
    take(nonce) {
      const ends = endsOf([socket.remoteAddress, socket.remotePort], [socket.localAddress, socket.localPort]);
      const exchange = { client: nonce, server: randomBytes(NONCE_BYTES), ends };
      socket.write(Buffer.concat([exchange.server, proofOf(secret, "server", exchange)]));
      return proven(exchange);
    },
  };
  const proven = (exchange: Exchange): Step => ({
    bytes: PROOF_BYTES,
    take(proof) {
      const isProven = isSame(proof, proofOf(secret, "client", exchange));
      done(isProven ? undefined : "it does not know the secret of the store");
      return undefined;
    },
  });
  return readSteps(socket, marked);
}

interface Step {
  readonly bytes: number;
  /** Returns the next step, if any. */
  take(bytes: Buffer): Step | undefined;
}

/** Reads exactly the bytes of each step; the bytes behind the last one stay in the socket. */
function readSteps(socket: Socket, first: Step): () => void {
  let step: Step | undefined = first;
  const look = (): void => {
    while (step !== undefined) {
      const { bytes: count, take } = step;
      const bytes = socket.read(count) as Buffer | null;
      // At the end of a stream fewer bytes may arrive.
      if (bytes === null || bytes.length < count) return;
      step = take(bytes);
      if (step === undefined) stop();
    }
  };
  const stop = (): void => {
    step = undefined;
    socket.off("readable", look);
  };
  socket.on("readable", look);
  return stop;
}

function proofOf(secret: string, side: "client" | "server", { client, server, ends }: Exchange): Buffer {
  const key = Buffer.from(hkdfSync("sha256", secret, "", "limpet link proof", 32));
  return createHmac("sha256", key).update(side).update(client).update(server).update(ends).digest();
}

type End = readonly [address: string | undefined, port: number | undefined];

const endsOf = (client: End, server: End): string => `${endOf(client)} ${endOf(server)}`;

/** A server that listens on IPv6 sees IPv4 clients as IPv4-mapped addresses. */
const endOf = ([address = "", port = 0]: End): string => `${address.replace(/^::ffff:(?=\d+\.)/, "")}|${port}`;

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);
