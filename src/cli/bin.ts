// The process behind the command. It ends when the command has ended, whatever an app it loaded has left running.

import { main } from "./main.ts";
import { quietWarnings } from "./warnings.ts";

quietWarnings();
process.exit(await main(process.argv.slice(2)));
