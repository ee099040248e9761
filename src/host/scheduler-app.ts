// A dedicated scheduler: a process without actors, whose scheduler goes before those inside of hosts.
import type { Settings } from "../config/settings.ts";
import { type App, type Extras, openApp } from "./app.ts";

export function openScheduler(settings: Settings, extras: Extras = {}): Promise<App> {
  return openApp({ actors: [] }, settings, { ...extras, dedicated: true });
}
