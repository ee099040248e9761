// Limpet: workflows of ten steps.
import { startEngine } from "./ours.ts";
import { makeTenSteps } from "./ten-steps.ts";

export const tenSteps = makeTenSteps(startEngine);
