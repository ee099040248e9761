// The command line: finds the command, parses its arguments, runs it, and turns every error into a message
// and an exit code. It shows a stack trace only on request.

import { VERSION } from "../host/version.ts";
import { didYouMean } from "../kernel/nearest.ts";
import { parseArguments } from "./common/arguments.ts";
import { asFailure, EXIT, type Failure, wrongUsage } from "./common/failure.ts";
import { type Env, type Stream, safe, Terminal } from "./common/terminal.ts";
import { CLI_COMMANDS } from "./registry.ts";

export interface CliEnvironment {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Env;
  readonly cwd: string;
}

/** Resolves with the exit code; never rejects. */
export async function main(argv: readonly string[], environment: Partial<CliEnvironment> = {}): Promise<number> {
  const { stdout = process.stdout, stderr = process.stderr, env = process.env, cwd = process.cwd() } = environment;
  const terminal = new Terminal(stdout, stderr, env);
  let exitCode: number;
  try {
    exitCode = await dispatch(argv, terminal, env, cwd);
  } catch (error) {
    const failure = asFailure(error);
    showFailure(failure, terminal, wantsJson(argv));
    if (env.LIMPET_DEBUG) terminal.errLine(String((failure.cause as Error)?.stack ?? failure.stack));
    exitCode = failure.exitCode;
  }
  await terminal.flush();
  return exitCode;
}

async function dispatch(argv: readonly string[], terminal: Terminal, env: Env, cwd: string): Promise<number> {
  const split = argv.findIndex((word) => !word.startsWith("-"));
  const before = split === -1 ? argv : argv.slice(0, split);
  for (const word of before) checkLeading(word);
  if (before.includes("--version") || before.includes("-v")) {
    if (before.includes("--json")) terminal.json({ version: VERSION, node: process.versions.node });
    else terminal.line(VERSION);
    return EXIT.ok;
  }
  const name = split === -1 ? "help" : argv[split]!;
  const listed = CLI_COMMANDS.find((candidate) => candidate.name === name);
  if (listed === undefined) {
    const known = CLI_COMMANDS.map((candidate) => candidate.name);
    throw wrongUsage(
      `${JSON.stringify(name)} is not a command${didYouMean(name, known, (hit) => `limpet ${hit}`)}`,
      `Commands: ${known.join(", ")}. More: limpet help`,
    );
  }
  const rest = [...before, ...argv.slice(split === -1 ? argv.length : split + 1)];
  let command = await listed.load();
  let parsed = parseArguments(command, rest);
  if (parsed.flags.help === true && command.name !== "help") {
    parsed = { args: [name], flags: parsed.flags };
    command = (await import("./help/help.ts")).helpCommand;
  }
  const json = parsed.flags.json === true;
  return command.run({ ...parsed, argv: rest, json, terminal, env, cwd });
}

/** Only flags that concern all commands may precede the command. */
function checkLeading(word: string): void {
  const known = ["--help", "-h", "--json", "--version", "-v"];
  if (known.includes(word)) return;
  throw wrongUsage(
    `limpet has no option ${word}${didYouMean(word, known, String)}`,
    "Options follow the command: limpet dev app.ts --port 8000. More: limpet help",
  );
}

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end === -1 ? argv : argv.slice(0, end)).includes("--json");
}

export function showFailure(failure: Failure, terminal: Terminal, json: boolean): void {
  const { errorCode, message, hint } = failure;
  if (json) {
    terminal.errLine(JSON.stringify({ errorCode, message, hint }));
    return;
  }
  const indent = " ".repeat("limpet: ".length);
  const [first, ...more] = safe(message).split("\n");
  terminal.errLine(`${terminal.paintErr("red", "limpet:")} ${first}`);
  for (const line of more) terminal.errLine(line);
  for (const line of hint === undefined ? [] : safe(hint).split("\n")) terminal.errLine(indent + line);
}
