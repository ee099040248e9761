// The server of Restate as a child process with a folder of its own, and a service that it calls in this process. Everything is as it comes,
// durability included (its log is synced before anything is answered), but for the number of partitions: each has a log of its own, and with
// one of them more travels together, which on few processors is the fastest.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { serve } from "@restatedev/restate-sdk";
import { freePort } from "../free-port.ts";
import { until } from "../until.ts";

const LIMIT_MS = 120_000;

const binary = () =>
  createRequire(import.meta.url).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );

export class RestateServer {
  #agent = new Agent({ keepAlive: true });
  #child;
  #ingress;
  #admin;

  static async start(folder, services) {
    const server = new RestateServer();
    const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
    const environment = {
      ...process.env,
      // It leaves folders behind there.
      TMPDIR: folder,
      RESTATE_BASE_DIR: join(folder, "restate"),
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_PORT: String(node),
      RESTATE_INGRESS__BIND_PORT: String(ingress),
      RESTATE_ADMIN__BIND_PORT: String(admin),
      RESTATE_DEFAULT_NUM_PARTITIONS: "1",
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_LOG_FILTER: "error,octocrab=off",
      RESTATE_DISABLE_TELEMETRY: "true",
    };
    server.#child = spawn(binary(), ["--no-logo"], { env: environment, cwd: folder, stdio: ["ignore", "ignore", 2] });
    process.on("exit", () => server.#child.kill("SIGKILL"));
    server.#ingress = ingress;
    server.#admin = admin;
    await until("Restate answers", () => server.#isHealthy());
    const port = await serve({ services, port: 0, logger: () => {} });
    await server.#post(admin, "/deployments", { uri: `http://127.0.0.1:${port}`, force: true });
    return server;
  }

  /** Calls a handler, and resolves with what it answers. */
  call(path, body) {
    return this.#post(this.#ingress, path, body);
  }

  /** Resolves when the code of an invocation is not in memory any more. */
  async untilSuspended(invocation) {
    const query = `SELECT status FROM sys_invocation WHERE id = '${invocation}'`;
    await until(
      "an invocation is suspended",
      async () => (await this.#post(this.#admin, "/query", { query })).rows[0]?.status === "suspended",
      LIMIT_MS,
    );
  }

  async close() {
    this.#agent.destroy();
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
  }

  async #isHealthy() {
    if (this.#child.exitCode !== null) throw new Error("the server of Restate has ended");
    const asked = [this.#admin, this.#ingress].map((port) =>
      fetch(`http://127.0.0.1:${port}/${port === this.#admin ? "health" : "restate/health"}`),
    );
    return (await Promise.all(asked).catch(() => [{ ok: false }])).every(({ ok }) => ok);
  }

  /** With as little as it takes: `fetch` costs more than what is measured here. */
  #post(port, path, body) {
    const { promise, resolve, reject } = Promise.withResolvers();
    const headers = { "content-type": "application/json", accept: "application/json" };
    const asked = request(
      { host: "127.0.0.1", port, path, method: "POST", agent: this.#agent, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (part) => {
          text += part;
        });
        response.on("end", () => {
          if (response.statusCode < 300) resolve(text === "" ? undefined : JSON.parse(text));
          else reject(new Error(`${path}: ${response.statusCode} ${text}`));
        });
      },
    );
    asked.on("error", reject);
    asked.end(JSON.stringify(body));
    return promise;
  }
}
