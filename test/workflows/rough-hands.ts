// A worker that takes tasks and dies at its first activity, again and again: its activities have the names of
// the ordinary ones, and end the process.
import { errand, activities as ordinary } from "./errands.ts";

export { actors } from "./errands.ts";

const die = async (): Promise<string> => {
  process.kill(process.pid, "SIGKILL");
  return "never";
};

export const activities = { ...ordinary, act: die };
export const workflows = [errand];
