// Shows which process fires which reminder: sets reminders at each process of app.ts, and then requests the
// fired ticks of all of them.
//
//   npm run reminders:demo -- http://127.0.0.1:3000 http://127.0.0.1:3001
import { setTimeout as pause } from "node:timers/promises";
import type { Fired } from "./app.ts";

const PATIENCE_MS = 300_000;
const urls = process.argv.length > 2 ? process.argv.slice(2) : ["http://127.0.0.1:3000", "http://127.0.0.1:3001"];
/** Names of this run: earlier ticks are not counted. */
const run = `run-${process.pid}`;

/** All processes get requests in turn. */
let turn = 0;
const nextUrl = () => urls[turn++ % urls.length]!;

async function ask(method: "POST" | "DELETE", reminder: object): Promise<void> {
  const url = nextUrl();
  const response = await fetch(`${url}/reminder`, { method, body: JSON.stringify(reminder) });
  if (!response.ok) throw new RangeError(`${url}: ${await response.text()}`);
}

async function look(): Promise<(Fired & { readonly url: string })[]> {
  const lists = urls.map(async (url) => {
    const list = (await (await fetch(`${url}/fired`)).json()) as Fired[];
    return list.filter(({ name }) => name.startsWith(run)).map((one) => ({ ...one, url }));
  });
  return (await Promise.all(lists)).flat();
}

// Twenty reminders that tick once, for twenty people; one that ticks three times.
for (let i = 0; i < 20; i++) {
  await ask("POST", { id: `person-${i}`, name: `${run}-once`, due: 1_000 + 100 * i, data: `call number ${i}` });
}
await ask("POST", { id: "clock", name: `${run}-thrice`, every: "1s", times: 3, data: "tick" });
// One that is replaced, and one that is cancelled, each at another process than the one that set it.
await ask("POST", { id: "alice", name: `${run}-changed`, due: "2s", data: "meet at nine" });
await ask("POST", { id: "alice", name: `${run}-changed`, due: "2s", data: "meet at ten" });
await ask("POST", { id: "bob", name: `${run}-cancelled`, due: "2s", data: "never mind" });
await ask("DELETE", { id: "bob", name: `${run}-cancelled` });

const expected = 20 + 3 + 1;
/** A tick is fired at least once; a repeated tick counts once, whichever process fires it. */
const ticksOf = (list: readonly Fired[]) => new Set(list.map(({ id, name, number }) => `${id} ${name} ${number}`)).size;
let all = await look();
for (let waited = 0; ticksOf(all) < expected && waited < PATIENCE_MS; waited += 100) {
  await pause(100);
  all = await look();
}

for (const { url, id, name, number, data, lateMs } of all) {
  console.log(`${url} fired ${id} ${name.slice(run.length + 1)} #${number} (${data}), ${lateMs} ms late`);
}
for (const url of urls) console.log(`${url} fired ${all.filter((one) => one.url === url).length}`);
if (ticksOf(all) !== expected || all.some(({ data }) => data === "never mind" || data === "meet at nine")) {
  console.log(`it should have been ${expected}, and nothing that was replaced or taken back`);
  process.exitCode = 1;
}
