// Generates the code of the control protocol from its .proto files. The code is checked in, so running and
// building do not need this script; a test reports outdated code. The target folder may be given. It
// downloads nothing.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

const root = join(import.meta.dirname, "..");
const require = createRequire(import.meta.url);
const out = resolve(process.argv[2] ?? join(root, "src/wire/proto/gen"));

const buf = join(dirname(require.resolve("@bufbuild/buf/package.json")), "bin/buf");
const plugin = join(dirname(require.resolve("@bufbuild/protoc-gen-es/package.json")), "bin/protoc-gen-es");
// JavaScript with declarations: TypeScript output would contain enums, which cannot be erased.
const es = { local: [process.execPath, plugin], out, opt: ["target=js+dts", "import_extension=js"] };
const template = JSON.stringify({ version: "v2", plugins: [es] });

rmSync(out, { recursive: true, force: true });
const made = spawnSync(process.execPath, [buf, "generate", "src/wire/proto", "--template", template], {
  cwd: root,
  stdio: "inherit",
});
process.exit(made.status ?? 1);
