// Installs the programs from outside npm that some tests drive: `npm run tools`. A test whose program is
// missing skips with that reason, so this command installs what it can, names what is missing, and always
// exits 0. It runs before `npm install`, on any Node from 20, so it is plain JavaScript and imports nothing
// but Node.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

const HELP = `Usage: npm run tools [-- --list]

Installs the programs that some tests drive and that npm install does not bring.
Where the system has apt-get and this user is root, system packages are installed.
Python and npm packages go to LIMPET_TOOLS (default: ~/.cache/limpet-tools).

  --list   print what is there and what is missing; install nothing
  --help   print this text
`;

const SYSTEM_LIMIT_MS = 600_000;
const PACKAGE_LIMIT_MS = 300_000;
const HOME = process.env.LIMPET_TOOLS ?? join(homedir(), ".cache", "limpet-tools");
const PYTHON_HOME = join(HOME, "python");
const NPM_HOME = join(HOME, "npm");

/** Programs of the system: the names a program may have, and the Debian package that brings it. */
const PROGRAMS = [
  { tool: "Chromium", names: ["chromium", "chromium-browser", "google-chrome"], packages: ["chromium"] },
  { tool: "etcd", names: ["etcd"], packages: ["etcd-server"] },
  { tool: "PgBouncer", names: ["pgbouncer"], packages: ["pgbouncer"] },
  { tool: "promtool", names: ["promtool"], packages: ["prometheus"] },
  { tool: "Python 3", names: ["python3"], packages: ["python3", "python3-venv"] },
  { tool: "Go", names: ["go"], packages: ["golang-go"] },
];

/**
 * Python packages, in a virtual environment of their own. SDKs are installed without their dependencies,
 * which are listed apart: one SDK needs a very new `certifi`, whose certificates are not used on loopback.
 */
const PYTHON_SDKS = ["durable-workflow==2.12.*"];
const PYTHON_PACKAGES = ["httpx>=0.27", "fastavro>=1.12.2,<2", "certifi", "pytest>=8", "pytest-asyncio>=0.23"];

/** Other runtimes and bundlers, in a folder of their own: too large for every npm install. */
const NPM_PACKAGES = ["bun@1", "deno@2", "esbuild@0.27"];

function findProgram(names) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/bin", "/usr/local/go/bin"];
  for (const name of names) {
    for (const folder of folders) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not in this folder.
      }
    }
  }
  return undefined;
}

/** True when the command succeeds in time. Its last line of errors is printed when it does not. */
function run(command, args, limitMs) {
  // Daemons that a package brings are not started in run level 1: tests start their own, on free ports.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const { status, stderr, error } = spawnSync(command, args, { env, encoding: "utf8", timeout: limitMs });
  if (status === 0) return true;
  const reason = error?.message ?? stderr.trim().split("\n").at(-1) ?? `exit code ${status}`;
  console.log(`  ${command} ${args[0]} failed: ${reason}`);
  return false;
}

function installPrograms() {
  const missing = PROGRAMS.filter(({ names }) => findProgram(names) === undefined);
  if (missing.length === 0) return;
  if (findProgram(["apt-get"]) === undefined || process.getuid?.() !== 0) {
    console.log("System packages are not installed: that needs apt-get and root.");
    return;
  }
  const packages = missing.flatMap((program) => program.packages);
  console.log(`Installing ${packages.join(", ")} …`);
  run("apt-get", ["update", "-qq"], SYSTEM_LIMIT_MS);
  const install = ["install", "-y", "-qq", "--no-install-recommends"];
  if (run("apt-get", [...install, ...packages], SYSTEM_LIMIT_MS) || packages.length === 1) return;
  // A package that cannot be installed must not prevent the others.
  for (const name of packages) run("apt-get", [...install, name], SYSTEM_LIMIT_MS);
}

/** Installs `wanted` with `install` unless the folder's stamp names the same packages. */
function installOnce(folder, wanted, install) {
  const stamp = join(folder, "installed.txt");
  const text = wanted.join("\n");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === text) return;
  console.log(`Installing ${wanted.join(", ")} …`);
  mkdirSync(folder, { recursive: true });
  if (install()) writeFileSync(stamp, text);
}

function installPythonPackages() {
  const python = findProgram(["python3"]);
  if (python === undefined) return;
  const pip = (...args) =>
    run(
      join(PYTHON_HOME, "bin", "pip"),
      ["install", "--quiet", "--disable-pip-version-check", ...args],
      PACKAGE_LIMIT_MS,
    );
  installOnce(
    PYTHON_HOME,
    [...PYTHON_SDKS, ...PYTHON_PACKAGES],
    () =>
      run(python, ["-m", "venv", PYTHON_HOME], PACKAGE_LIMIT_MS) &&
      pip(...PYTHON_PACKAGES) &&
      pip("--no-deps", ...PYTHON_SDKS),
  );
}

function installNpmPackages() {
  installOnce(NPM_HOME, NPM_PACKAGES, () =>
    run("npm", ["install", "--prefix", NPM_HOME, "--no-save", "--loglevel=error", ...NPM_PACKAGES], PACKAGE_LIMIT_MS),
  );
}

function report() {
  const present = [
    ...PROGRAMS.map(({ tool, names }) => [tool, findProgram(names)]),
    ...[
      ["Python packages", PYTHON_HOME],
      ["npm packages", NPM_HOME],
    ].map(([tool, folder]) => [tool, existsSync(join(folder, "installed.txt")) ? folder : undefined]),
  ];
  for (const [tool, path] of present)
    console.log(`${path === undefined ? "missing" : "found  "}  ${tool}  ${path ?? ""}`);
  const missing = present.filter(([, path]) => path === undefined).map(([tool]) => tool);
  if (missing.length > 0) console.log(`Tests that need ${missing.join(", ")} will be skipped.`);
}

const flags = process.argv.slice(2);
const unknown = flags.find((flag) => flag !== "--list" && flag !== "--help");
if (flags.includes("--help")) {
  process.stdout.write(HELP);
} else if (unknown !== undefined) {
  process.stderr.write(`unknown argument ${unknown}\n${HELP}`);
  process.exitCode = 2;
} else {
  if (!flags.includes("--list")) {
    installPrograms();
    installPythonPackages();
    installNpmPackages();
  }
  report();
}
