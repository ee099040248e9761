import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runCli, tempFolder } from "../../test/support/cli.ts";
import { OTHER_ENV } from "../config/options.ts";
import { CLI_COMMANDS } from "./registry.ts";

test("limpet without arguments, and help in any form, shows the commands", async () => {
  for (const argv of [[], ["help"], ["--help"], ["-h"]]) {
    const { code, stdout, stderr } = await runCli(argv);
    assert.deepEqual([code, stderr], [0, ""], argv.join(" "));
    for (const { name } of CLI_COMMANDS) assert.ok(stdout.includes(`  ${name}`), name);
  }
});

test("every command has help in two forms and as JSON, equal to the list", async () => {
  for (const { name, summary, load } of CLI_COMMANDS) {
    const command = await load();
    assert.deepEqual([command.name, command.summary], [name, summary]);
    const first = await runCli([name, "--help"]);
    const second = await runCli(["help", name]);
    if (name !== "help") assert.deepEqual(first, second);
    assert.equal(second.code, 0);
    assert.match(second.stdout, new RegExp(`^limpet ${name}: `));
    assert.match(second.stdout, /--json .*\n.*--help/);
    assert.match(second.stdout, /\nExamples\n/);
    const data = JSON.parse((await runCli(["help", name, "--json"])).stdout);
    assert.equal(data.name, name);
  }
});

test("limpet help options lists every setting with its flag, its variable and the effect of a wrong value", async () => {
  const { stdout } = await runCli(["help", "options"]);
  for (const word of ["http.port", "--port", "LIMPET_HTTP_PORT", "Too low: short bursts fail."]) {
    assert.ok(stdout.includes(word), word);
  }
  assert.ok(JSON.parse((await runCli(["help", "options", "--json"])).stdout).settings.length > 10);
});

test("the version is the version of the package", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  for (const flag of ["--version", "-v"]) assert.equal((await runCli([flag])).stdout, `${version}\n`);
  assert.equal(JSON.parse((await runCli(["--version", "--json"])).stdout).version, version);
});

test("wrong usage exits with code 2 and two helpful lines on stderr, without stdout", async () => {
  const wrong: [string[], RegExp][] = [
    [["actor"], /"actor" is not a command; did you mean limpet actors\?\n {8}Commands: dev, call/],
    [["zebra"], /"zebra" is not a command\n/],
    [["--prot", "dev"], /limpet has no option --prot\n {8}Options follow the command/],
    [["dev"], /limpet dev needs <module>\n {8}Usage: limpet dev <module> \[options\]\n {8}For example: /],
    [["call", "Cart"], /limpet call needs <id> and <method>/],
    [["call", "Cart", "alice", "add", "tea"], /argument 1 is not JSON: tea\n.*\n {8}limpet call Cart alice add .*tea/],
    [["call", "Cart", "alice", "add", "1", "{a:1}"], /argument 2 is not JSON: \{a:1\}/],
    [["call", "Cart", "..", "add"], /actor id must not be "\.\."/],
    [["explain", "Cart", "a", "b"], /limpet explain takes no further argument: "b"/],
    [["actors", "--limit", "0"], /--limit: "0" is not a whole number of at least 1/],
    [["actors", "--limit", "5", "--all"], /--all and --limit exclude each other/],
    [["where", "Cart"], /limpet where needs <id>/],
    [["where", "Cart", ".."], /actor id must not be "\.\."/],
    [["drain"], /limpet drain needs <host>/],
    [["drain", " "], /the host to drain is empty\n {8}limpet ps shows the hosts/],
    [["ps", "more"], /limpet ps takes no further argument: "more"/],
    [["scheduler", "app.ts"], /limpet scheduler takes no further argument: "app\.ts"/],
    [["help", "optoins"], /"optoins" is not a help topic; did you mean "options"\?/],
  ];
  for (const [argv, message] of wrong) {
    const { code, stdout, stderr } = await runCli(argv);
    assert.deepEqual([code, stdout], [2, ""], argv.join(" "));
    assert.match(stderr, /^limpet: /);
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /\n\s+at |Error:/, "no stack traces");
  }
});

test("an invalid setting is wrong usage too, whatever its source", async () => {
  using folder = tempFolder();
  folder.write("app.ts", "");
  const flag = await runCli(["dev", "app.ts", "--port", "x"], { cwd: folder.path });
  assert.deepEqual([flag.code, flag.stdout], [2, ""]);
  assert.match(flag.stderr, /--port: "x" is not a whole number.*\n {8}All settings: limpet help options/);
  folder.write("limpet.yaml", "stoer: a.db\n");
  const file = await runCli(["call", "Cart", "a", "b"], { cwd: folder.path });
  assert.equal(file.code, 2);
  assert.match(file.stderr, /stoer \(limpet\.yaml:1\): there is no such setting; did you mean "store"\?/);
});

test("an error for programs is one object with a code and a message", async () => {
  const usage = await runCli(["call", "Cart", "alice", "add", "tea", "--json"]);
  assert.deepEqual([usage.code, usage.stdout], [2, ""]);
  const error = JSON.parse(usage.stderr);
  assert.equal(error.errorCode, "ARGUMENT_INVALID");
  assert.match(error.message, /is not JSON/);
  assert.match(error.hint, /quote it/);
  const early = await runCli(["--json", "zebra"]);
  assert.equal(JSON.parse(early.stderr).errorCode, "ARGUMENT_INVALID");
});

test("colours appear only on a terminal", async () => {
  const coloured = (text: string) => text.includes("\u001b[");
  assert.ok(coloured((await runCli(["help"], { tty: true })).stdout));
  assert.ok(coloured((await runCli(["zebra"], { tty: true })).stderr));
  for (const argv of [["help"], ["help", "dev"], ["help", "options"], ["zebra"]]) {
    const { stdout, stderr } = await runCli(argv);
    assert.ok(!coloured(stdout + stderr), argv.join(" "));
  }
  assert.ok(!coloured((await runCli(["help"], { tty: true, env: { NO_COLOR: "1" } })).stdout));
});

test("docs/cli.md covers every command and every variable of the command line", () => {
  const text = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");
  for (const { name } of CLI_COMMANDS) {
    assert.ok(text.includes(name === "help" ? "limpet help" : `## limpet ${name}`), name);
  }
  for (const name of OTHER_ENV) assert.ok(text.includes(`| \`${name}\` |`), name);
});
