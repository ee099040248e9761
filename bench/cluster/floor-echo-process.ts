// The other side of the floor: answers one more than it is given.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { FrameLink } from "./frames.ts";
import { beTheOther } from "./other-process.ts";

await beTheOther(async () => {
  const server = createServer((socket) => {
    const link: FrameLink = new FrameLink(socket, (number, n) => link.send(number, (n as number) + 1));
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { hello: (server.address() as AddressInfo).port, stop: async () => {} };
});
