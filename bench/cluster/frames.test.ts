import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { FrameLink } from "./frames.ts";

test("messages arrive whole and in order, however the bytes are cut", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [[peer]] = (await Promise.all([once(server, "connection"), once(socket, "connect")])) as [[Socket], unknown];
  const sent: [number, string][] = Array.from({ length: 200 }, (_, i) => [i, "x".repeat(i * 37)]);
  const received: [number, unknown][] = [];
  const all = Promise.withResolvers<void>();
  new FrameLink(peer, (number, payload) => {
    if (received.push([number, payload]) === sent.length) all.resolve();
  });
  const link = new FrameLink(socket, () => {});
  for (const [number, payload] of sent) {
    link.send(number, payload);
    if (number % 7 === 0) await new Promise(setImmediate);
  }
  await all.promise;
  assert.deepEqual(received, sent);
  socket.destroy();
  peer.destroy();
  server.close();
});
