// Data that makes a finding reproducible: the commit, the version of Node, and the command that repeats it.
import { execFileSync } from "node:child_process";

export interface Circumstances {
  /** Commit of the program; ends in `+` if files were changed since. */
  readonly commit: string;
  readonly node: string;
}

export function circumstances(): Circumstances {
  return { commit: commit(), node: process.version };
}

function commit(): string {
  try {
    const git = (...words: string[]): string =>
      execFileSync("git", words, { cwd: import.meta.dirname, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const isChanged = git("status", "--porcelain", "--untracked-files=no") !== "";
    return git("rev-parse", "--short=12", "HEAD").trim() + (isChanged ? "+" : "");
  } catch {
    return "unknown";
  }
}

export interface Variation {
  readonly hosts?: number;
  readonly bug?: string;
}

/** The command that runs this seed again, with its story. */
export function replayCommand(seed: number, { hosts, bug }: Variation): string {
  const more = [...(hosts === undefined ? [] : [`--hosts ${hosts}`]), ...(bug === undefined ? [] : [`--bug ${bug}`])];
  return ["npm run sim --", `--seed ${seed}`, ...more].join(" ");
}
