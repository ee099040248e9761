import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseArguments } from "./arguments.ts";
import type { CliCommand } from "./command.ts";
import { EXIT, Failure } from "./failure.ts";

const command: CliCommand = {
  name: "fetch",
  summary: "",
  arguments: [
    { name: "one", help: "" },
    { name: "more", help: "", optional: true, rest: true },
  ],
  flags: [
    { name: "port", kind: "text", placeholder: "number", help: "" },
    { name: "watch", short: "w", kind: "switch", help: "" },
    { name: "http", kind: "yes/no", help: "" },
    { name: "token", kind: "list", help: "" },
  ],
  examples: ["limpet fetch x"],
  run: async () => 0,
};
const fixed: CliCommand = { ...command, arguments: [{ name: "one", help: "" }], examples: [] };

function refused(argv: string[], of = command): Failure {
  try {
    parseArguments(of, argv);
  } catch (error) {
    assert.ok(error instanceof Failure);
    assert.equal(error.exitCode, EXIT.usage);
    return error;
  }
  return assert.fail("nothing was refused");
}

test("flags may stand before, behind and between arguments, with a space or an equals sign", () => {
  for (const argv of [
    ["a", "b", "--port", "80", "-w"],
    ["--port=80", "--watch", "a", "b"],
    ["a", "--port", "80", "b", "--watch"],
  ]) {
    assert.deepEqual(parseArguments(command, argv), { args: ["a", "b"], flags: { port: "80", watch: true } });
  }
});

test("a yes/no flag has both forms, a list collects its values, and the last value of any other flag counts", () => {
  assert.deepEqual(parseArguments(command, ["a", "--no-http"]).flags, { http: false });
  assert.deepEqual(parseArguments(command, ["a", "--no-http", "--http"]).flags, { http: true });
  assert.deepEqual(parseArguments(command, ["a", "--token", "x", "--token=y"]).flags, { token: ["x", "y"] });
  assert.deepEqual(parseArguments(command, ["a", "--port", "1", "--port", "2"]).flags, { port: "2" });
});

test("a negative number is an argument, in its place", () => {
  assert.deepEqual(parseArguments(command, ["a", "-5", "b", "-12.5e3", "-.5"]).args, [
    "a",
    "-5",
    "b",
    "-12.5e3",
    "-.5",
  ]);
});

test("every word behind two dashes is an argument", () => {
  assert.deepEqual(parseArguments(command, ["a", "--", "--port", "-w"]), { args: ["a", "--port", "-w"], flags: {} });
});

test("an unknown flag is rejected with the nearest known one", () => {
  assert.equal(refused(["a", "--prot", "80"]).message, "limpet fetch has no option --prot; did you mean --port?");
  assert.equal(refused(["a", "--prot=80"]).message, "limpet fetch has no option --prot; did you mean --port?");
  assert.equal(refused(["a", "-port"]).message, "limpet fetch has no option -port; did you mean --port?");
  assert.equal(refused(["a", "--zebra"]).message, "limpet fetch has no option --zebra");
  assert.equal(refused(["a", "-x"]).message, "limpet fetch has no option -x");
  assert.equal(refused(["a", "--zebra"]).hint, "All options: limpet fetch --help");
});

test("a missing or superfluous value is rejected", () => {
  assert.equal(refused(["a", "--port"]).message, "--port needs a value: --port <number>");
  assert.equal(refused(["a", "--port", "--watch"]).message, "--port needs a value: --port <number>");
  assert.equal(refused(["a", "--watch=yes"]).message, "--watch takes no value");
  assert.equal(parseArguments(command, ["a", "--port=--watch"]).flags.port, "--watch");
  assert.equal(parseArguments(command, ["a", "--port", "-1"]).flags.port, "-1");
});

test("too few or too many arguments are rejected with the usage", () => {
  assert.equal(refused([]).message, "limpet fetch needs <one>");
  assert.equal(refused([]).hint, "Usage: limpet fetch <one> [more…] [options]\nFor example: limpet fetch x");
  assert.equal(refused(["a", "b"], fixed).message, 'limpet fetch takes no further argument: "b"');
  assert.deepEqual(parseArguments(fixed, ["--help"]).flags, { help: true }, "help needs no arguments");
});

test("any command line is either parsed or rejected", () => {
  const word = fc.oneof(fc.string(), fc.constantFrom("--", "-", "--port", "-w", "--http=", "--=", "-5", "--no-http"));
  fc.assert(
    fc.property(fc.array(word), (argv) => {
      try {
        parseArguments(command, argv);
      } catch (error) {
        assert.ok(error instanceof Failure, String(error));
      }
    }),
  );
});
