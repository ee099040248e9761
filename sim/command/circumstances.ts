// What a finding is only worth something with: the commit, the version of Node, and the words that bring it back.
import { execFileSync } from "node:child_process";

export interface Circumstances {
  /** Of the program that ran; ends in `+` when files had been changed since. */
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
  readonly hosts?: number | undefined;
  readonly bug?: string | undefined;
}

/** The words that run this seed again, with its story. */
export function replayCommand(seed: number, { hosts, bug }: Variation): string {
  const more = [...(hosts === undefined ? [] : [`--hosts ${hosts}`]), ...(bug === undefined ? [] : [`--bug ${bug}`])];
  return ["npm run sim --", `--seed ${seed}`, ...more].join(" ");
}
