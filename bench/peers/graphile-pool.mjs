// The connections that graphile-worker is given. It warns of pools that nobody listens to.
import pg from "pg";

export function poolOf(connectionString) {
  const pool = new pg.Pool({ connectionString, max: 20 });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
