// The version of this copy of Limpet, read from its package: two folders up from src/nodes and from dist/nodes alike.
import { readFileSync } from "node:fs";

const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");

export const VERSION: string = (JSON.parse(manifest) as { version: string }).version;
