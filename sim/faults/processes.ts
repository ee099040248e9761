// What happens to processes.
import { type Fault, hostNames, moments } from "./fault.ts";

export const crash: Fault = {
  name: "crash",
  says: "a process ends with everything in its memory, and is started again after a while",
  draw(chance, plan) {
    const names = hostNames(plan);
    return moments(chance, plan, 3).map((at) => {
      const restartMs = Math.floor(chance.exponential(8_000));
      return { at, fault: "crash", host: chance.pick(names), quietly: chance.chance(0.3), restartMs };
    });
  },
  happen(stage, { host, quietly, restartMs }) {
    const player = stage.player(host as string);
    if (player.host.process === undefined) return;
    stage.fault("crash", player.host.name, { quietly });
    stage.crash(player, quietly as boolean);
    stage.later(restartMs as number, () => stage.start(player));
  },
};

export const pause: Fault = {
  name: "pause",
  says: "a process hangs and goes on later with its old beliefs",
  draw(chance, plan) {
    const names = hostNames(plan);
    return moments(chance, plan, 4).map((at) => {
      return { at, fault: "pause", host: chance.pick(names), ms: Math.floor(10 * 6_000 ** chance.number()) };
    });
  },
  happen(stage, { host, ms }) {
    const player = stage.player(host as string);
    if (player.host.process === undefined) return;
    stage.fault("pause", player.host.name, { ms });
    stage.sleep(player, ms as number, "pause");
  },
};
