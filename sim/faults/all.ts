// Every kind of trouble there is.
import type { Fault } from "./fault.ts";
import { crash, pause } from "./processes.ts";

export const FAULTS: readonly Fault[] = [crash, pause];
