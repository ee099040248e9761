// Compiles src/ into dist/ from scratch, so that a file that was removed does not live on in the package.
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";

const root = new URL("../", import.meta.url);
rmSync(new URL("dist", root), { recursive: true, force: true });
const tsc = spawnSync("tsc", ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
// Made by scripts/generate-proto.ts, and JavaScript already.
cpSync(new URL("src/wire/proto/gen", root), new URL("dist/wire/proto/gen", root), { recursive: true });
process.exit(tsc.status ?? 1);
