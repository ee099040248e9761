// Puts a bug back into the program of this process: `LIMPET_SIM_BUG=name node --import ./sim/bugs/put-back.ts
// …`. Without that variable it does nothing. It must be loaded before the program, because it changes files
// while they are loaded.
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { withBug } from "./bug.ts";
import { BUGS, bugNamed } from "./catalogue.ts";

const project = pathToFileURL(`${import.meta.dirname}/../../`).href;
const name = process.env.LIMPET_SIM_BUG ?? "";

function putBack(wanted: string): void {
  const bug = bugNamed(wanted);
  if (bug === undefined) {
    throw new Error(
      `LIMPET_SIM_BUG names no bug: ${wanted}. There are:\n${BUGS.map((one) => `  ${one.name}`).join("\n")}`,
    );
  }
  const missing = new Set(bug.changes.map(({ file }) => file));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const file = url.startsWith(project) ? url.slice(project.length).replace(/[?#].*$/, "") : "";
      if (!bug.changes.some((change) => change.file === file)) return loaded;
      const { source } = loaded;
      if (source === undefined || source === null)
        throw new Error(`the text of ${file} cannot be seen while it is loaded`);
      missing.delete(file);
      const text = typeof source === "string" ? source : new TextDecoder().decode(source);
      return { ...loaded, source: withBug(bug, file, text), shortCircuit: true };
    },
  });
  process.on("exit", () => {
    // The run tested less than the bug intends.
    for (const file of missing) console.error(`the bug ${bug.name} was not put back: ${file} was never loaded`);
  });
}

if (name !== "") putBack(name);
