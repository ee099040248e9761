// A result of the doctor: a status, a message, and a hint.

export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly message: string;
  readonly hint?: string;
}

export const passed = (name: string, message: string): Check => ({ name, status: "ok", message });
export const warn = (name: string, message: string, hint?: string): Check => ({ name, status: "warn", message, hint });
export const fail = (name: string, message: string, hint?: string): Check => ({ name, status: "fail", message, hint });
