// Compiles src/ into dist/ from scratch, so that a file that was removed does not live on in the package.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

const root = new URL("../", import.meta.url);
rmSync(new URL("dist", root), { recursive: true, force: true });
const tsc = spawnSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
process.exit(tsc.status ?? 1);
