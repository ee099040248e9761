// Reminders that any number of processes share. Start it in two terminals, and set reminders at either of them:
//
//   PORT=3000 npm run reminders
//   PORT=3001 npm run reminders
//   curl -d '{"id":"alice","name":"tea","due":"10s","data":"it is ready"}' http://127.0.0.1:3000/reminder
//   curl -X DELETE -d '{"id":"alice","name":"tea"}' http://127.0.0.1:3001/reminder
//
// Both use one SQLite file, and need nothing else. Kill one: the other continues. The scripts run on the Node
// that `npm install` brings, whatever Node the machine has.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Actor, isLimpetError, limpet, type ReminderOptions, type ReminderTick } from "limpet";

/** One tick that this process has fired. */
export interface Fired {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  readonly number: number;
  readonly lateMs: number;
}

type Wish = { readonly id: string; readonly name: string } & ReminderOptions;

const fired: Fired[] = [];

class Note extends Actor {
  override onReminder(name: string, data: unknown, { due, number }: ReminderTick) {
    const lateMs = Date.now() - due;
    fired.push({ id: this.id, name, data, number, lateMs });
    console.log(`fired ${this.id}/${name}, tick ${number}, ${lateMs} ms late:`, data);
  }
}

const app = await limpet({
  actors: [Note],
  store: ".limpet/reminders.db",
  // So small that the processes have to share. The defaults suit production.
  reminders: { pollInterval: "2500ms", fetchAhead: "5s", batchSize: 2, lease: "30s" },
});

async function answer(request: IncomingMessage): Promise<unknown> {
  const asked = `${request.method} ${request.url}`;
  if (asked === "GET /fired") return fired;
  const { id, name, ...options } = JSON.parse(await text(request)) as Wish;
  if (asked === "POST /reminder") return app.reminders.set(Note, id, name, options);
  if (asked === "DELETE /reminder") return app.reminders.cancel(Note, id, name);
  throw new RangeError("there are POST /reminder, DELETE /reminder and GET /fired");
}

const server = createServer((request, response) => {
  answer(request).then(
    (value) => response.end(value === undefined ? "" : JSON.stringify(value)),
    (error: Error) => response.writeHead(isLimpetError(error) ? error.status : 400).end(`${error.message}\n`),
  );
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close();
    void app.stop();
  });
}
