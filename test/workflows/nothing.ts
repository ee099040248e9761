// A module without workflows.
export const workflows = [];
