import assert from "node:assert/strict";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { type ConnectionOptions, connect, createServer, type TLSSocket } from "node:tls";
import type { LimpetError } from "../kernel/errors.ts";
import {
  type ClusterSecurity,
  clientTls,
  connectFailure,
  keyFingerprint,
  NO_SECURITY,
  serverTls,
} from "./cluster-security.ts";

const OLD: ClusterSecurity = { keys: ["the old key of this cluster"] };
const NEW: ClusterSecurity = { keys: ["the new key of this cluster"] };
const BOTH: ClusterSecurity = { keys: [...NEW.keys, ...OLD.keys] };

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

/** A server that sends a hello to every client. */
function greeter(t: TestContext, security: ClusterSecurity): Promise<number> {
  const server = createServer(serverTls(security)!, (socket) => socket.on("error", () => {}).end("hello"));
  return listen(t, server);
}

/** The text that a client of the cluster receives, or its error. */
function visit(port: number, security: ClusterSecurity, more: ConnectionOptions = {}): Promise<string | LimpetError> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({ host: "127.0.0.1", port, ...clientTls(security), ...more });
    let received = "";
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => {
      received += text;
    });
    socket.on("error", (error) => resolve(connectFailure(error, `127.0.0.1:${port}`, security)));
    socket.on("close", () => resolve(received));
  });
}

const isRefusal = (answer: string | LimpetError, about: RegExp) => {
  assert.ok(typeof answer !== "string", `it was let in and heard ${answer}`);
  assert.equal(answer.code, "UNAUTHENTICATED");
  assert.match(answer.message, about);
};

describe("cluster key", () => {
  it("a client with the cluster key is admitted, encrypted by TLS 1.3", async (t) => {
    const port = await greeter(t, OLD);
    assert.equal(await visit(port, OLD), "hello");
    const socket = connect({ host: "127.0.0.1", port, ...clientTls(OLD) });
    await new Promise((resolve) => socket.once("secureConnect", resolve));
    assert.equal(socket.getProtocol(), "TLSv1.3");
    socket.destroy();
  });

  it("a client with another cluster key is rejected and learns the reason", async (t) => {
    isRefusal(await visit(await greeter(t, OLD), NEW), /has another cluster key, or none/);
  });

  it("the cluster key can be changed step by step: a server accepts any of its keys, a client uses the first", async (t) => {
    assert.equal(await visit(await greeter(t, BOTH), OLD), "hello");
    assert.equal(await visit(await greeter(t, BOTH), NEW), "hello");
    assert.equal(await visit(await greeter(t, NEW), BOTH), "hello");
    isRefusal(await visit(await greeter(t, OLD), BOTH), /another cluster key/);
  });

  it("a server that shows a certificate instead of the key is rejected, however trusted the certificate is", async (t) => {
    const impostor = createServer({ key: KEY, cert: CERT }, (socket) => socket.on("error", () => {}).end("hello"));
    const port = await listen(t, impostor);
    isRefusal(await visit(port, OLD, { ca: [CERT] }), /another cluster key, or none/);
    isRefusal(await visit(port, OLD), /another cluster key, or none/);
    // The certificate is valid: without our options it is accepted.
    const trusting = connect({ host: "127.0.0.1", port, ca: [CERT] });
    await new Promise((resolve, reject) => trusting.once("secureConnect", resolve).once("error", reject));
    trusting.destroy();
  });

  it("a client with its own certificate, or with nothing, is rejected for its missing key", async (t) => {
    const port = await greeter(t, OLD);
    const stranger = connect({ host: "127.0.0.1", port, key: KEY, cert: CERT, rejectUnauthorized: false });
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => stranger.once("error", resolve));
    assert.match(String(error.code), /HANDSHAKE_FAILURE/);
  });

  it("a client with a key reports a server without TLS", async (t) => {
    const server = createTcpServer((socket) =>
      socket
        .on("error", () => {})
        .resume()
        .end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    );
    isRefusal(await visit(await listen(t, server), OLD), /does not use TLS/);
  });

  it("the fingerprint of a cluster key reveals nothing about it", () => {
    assert.match(keyFingerprint(OLD.keys[0]!), /^[0-9a-f]{16}$/);
    assert.equal(keyFingerprint(OLD.keys[0]!), keyFingerprint(OLD.keys[0]!));
    assert.notEqual(keyFingerprint(OLD.keys[0]!), keyFingerprint(NEW.keys[0]!));
  });

  it("a cluster without a key uses no TLS", () => {
    assert.equal(serverTls(NO_SECURITY), undefined);
    assert.equal(clientTls(NO_SECURITY), undefined);
  });
});

describe("failed connection", () => {
  const failure = (code: string, security = NO_SECURITY) =>
    connectFailure(Object.assign(new TypeError("it failed"), { code }), "10.0.0.1:7400", security);

  it("the error of a failed connection names the cause and a remedy", () => {
    assert.equal(failure("ECONNREFUSED").code, "UNREACHABLE");
    assert.equal(failure("ECONNREFUSED").message, "10.0.0.1:7400 cannot be reached: ECONNREFUSED");
    assert.match(
      failure("ECONNRESET").message,
      /closed the connection at once; .* requires a cluster key that this process lacks/,
    );
    assert.equal(failure("ECONNRESET", OLD).message, "10.0.0.1:7400 cannot be reached: ECONNRESET");
    assert.equal(connectFailure("odd", "10.0.0.1:7400", OLD).message, "10.0.0.1:7400 cannot be reached: odd");
    assert.equal(connectFailure(undefined, "10.0.0.1:7400", OLD).code, "UNREACHABLE");
  });
});

// For 127.0.0.1, until 2120. Only the tests above trust it.
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnNnMjhepOj0Tw7h6
wuGxu2GAQ0WDFEfbtr0ElSi8IRKhRANCAASnouZUjUECDwqMbjgfKVFKwKr74qTS
UDdbe1Rj1J/NTuAK0sY8NAZoUp9UTZPQo2SPwXiJg8Rivthb3RVOsOBa
-----END PRIVATE KEY-----
`;
const CERT = `-----BEGIN CERTIFICATE-----
MIIBWzCCAQKgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKei5lSNQQIPCoxu
OB8pUUrAqvvipNJQN1t7VGPUn81O4ArSxjw0BmhSn1RNk9CjZI/BeImDxGK+2Fvd
FU6w4FqjQzBBMA8GA1UdEQQIMAaHBH8AAAEwDwYDVR0TAQH/BAUwAwEB/zAdBgNV
HQ4EFgQUMizHsKnJuftIFue4cIUbvOtdTfIwCgYIKoZIzj0EAwIDRwAwRAIgWTrA
UwEkC4zrDLjPi1nBiAENJ2O3rAHp9LK4ZqVHOEICID+l4q+IHk7rPwExbG/V8iXO
66vBb/Gsv4pr4JxNnm1w
-----END CERTIFICATE-----
`;
