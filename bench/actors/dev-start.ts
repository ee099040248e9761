// Measures the time from the start of a process to the first answer to an HTTP call. Floor: a bare Node
// process with an HTTP server, in TypeScript too.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Make } from "../case.ts";
import { freePort } from "../free-port.ts";

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const APP = `import { Actor } from ${JSON.stringify(fileOf("src/index.ts"))};
export class Counter extends Actor<{ n: number }> {
  initial() { return { n: 0 }; }
  increment() { return ++this.state.n; }
}
`;

const BARE = `import { createServer, type RequestListener } from "node:http";
let n = 0;
const answer: RequestListener = (_, response) => { response.end(JSON.stringify(++n)); };
createServer(answer).listen(Number(process.argv[2]), "127.0.0.1");
`;

const LIMIT_MS = 60_000;

const starter =
  (file: string, source: string, words: (port: number) => string[]): Make =>
  async ({ folder }) => ({
    async run() {
      const cwd = mkdtempSync(join(folder, "start-"));
      writeFileSync(join(cwd, file), source);
      writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
      const port = await freePort();
      const start = performance.now();
      const child = spawn(process.execPath, words(port), { cwd, stdio: ["ignore", "ignore", "pipe"] });
      let output = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
      const kill = () => child.kill("SIGKILL");
      process.once("exit", kill);
      try {
        const answer = await firstAnswer(port, child, start);
        const took = performance.now() - start;
        if (answer !== "1") throw new Error(`the first answer was ${answer}`);
        return took;
      } catch (error) {
        process.stderr.write(output);
        throw error;
      } finally {
        if (child.exitCode === null) {
          child.kill("SIGTERM");
          await once(child, "exit");
        }
        process.off("exit", kill);
      }
    },
    close: async () => {},
  });

export const firstReply = starter("app.ts", APP, (port) => [
  fileOf("src/cli/bin.ts"),
  "dev",
  "app.ts",
  "--port",
  `${port}`,
]);
export const bareServer = starter("server.ts", BARE, (port) => ["server.ts", `${port}`]);

async function firstAnswer(port: number, child: ChildProcess, start: number): Promise<string> {
  while (performance.now() - start < LIMIT_MS) {
    if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}`);
    const answer = await ask(port);
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`no answer within ${LIMIT_MS / 1000} s`);
}

/** Undefined while there is no listener. */
function ask(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const path = "/v1.0/actors/Counter/first/method/increment";
    const call = request({ host: "127.0.0.1", port, path, method: "POST", agent: false }, (response) => {
      response.setEncoding("utf8");
      let text = "";
      response.on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve(response.statusCode === 503 ? undefined : text));
    });
    call.on("error", () => resolve(undefined));
    call.end();
  });
}
