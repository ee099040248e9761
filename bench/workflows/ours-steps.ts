// Limpet: workflows of ten steps, and single ones of many.
import { makeLongRun } from "./long-run.ts";
import { startEngine } from "./ours.ts";
import { makeTenSteps } from "./ten-steps.ts";

export const tenSteps = makeTenSteps(startEngine);
export const longRun = makeLongRun(startEngine);
