// The process of the command. It exits with the command, even when a loaded app has left something running.

import { main } from "./main.ts";
import { quietWarnings } from "./warnings.ts";

quietWarnings();
process.exit(await main(process.argv.slice(2)));
