// A process with no workflows of its own.
export const workflows = [];
