// A dedicated scheduler: a process without actors, preferred as leader over the schedulers inside hosts.
import type { Settings } from "../config/settings.ts";
import { type App, type Extras, openApp } from "./app.ts";

export function openScheduler(settings: Settings, extras: Extras = {}): Promise<App> {
  return openApp({ actors: [] }, settings, { ...extras, dedicated: true });
}
