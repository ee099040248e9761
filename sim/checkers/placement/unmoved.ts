// Checks that a new table does not affect actors whose owner stays the same: they stay in memory, and calls
// reach them. A host releases all actors only when its lease ends or the leader orders it.
import { isLimpetError } from "../../../src/kernel/errors.ts";
import { Ring } from "../../../src/placement/model/ring.ts";
import { VIRTUAL_NODES } from "../../../src/placement/model/virtual-nodes.ts";
import type { Said } from "../../../src/world/network/virtual-control.ts";
import type { Process } from "../../../src/world/process.ts";
import type { Life } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { doorOf, ENDINGS, followsRing, labelOf, nameOf } from "../looks.ts";

export const unmoved: CheckerKind = {
  name: "unmoved ids never blocked",
  rule: "a host does not release an actor whose owner stays the same, and calls to it do not fail with NOT_SETTLED",
  make(stage, report) {
    /** Hosts of every table, by namespace, type and number; several if terms used the number again. */
    const tables = new Map<string, { readonly addresses: readonly string[]; readonly factor: number }[]>();
    const begun = new Map<number, number>();
    const lives = new Map<string, Life>();
    const endings = new Map<string, number>();
    const incarnations = new Map<Process, { readonly incarnation: string; readonly endings: number }>();

    const ownersOf = (life: Life, number: number): (string | undefined)[] =>
      (tables.get(`${life.namespace}/${life.type}/${number}`) ?? []).map(({ addresses, factor }) =>
        Ring.of(addresses, factor, VIRTUAL_NODES).owner(life.id),
      );

    /** True if every table between the two numbers is known and assigns the actor to this host. */
    function stayed(life: Life, from: number, to: number, address: string | undefined): boolean {
      for (let number = from; number <= to; number++) {
        const owners = ownersOf(life, number);
        if (owners.length === 0 || owners.some((owner) => owner !== address)) return false;
      }
      return true;
    }

    return {
      told({ who, event }) {
        if (ENDINGS.has(event)) endings.set(who, (endings.get(who) ?? 0) + 1);
      },
      sent(process, _to, message) {
        const said = message as Said;
        if (said.about === "host" && said.message.kind === "hello") {
          const { incarnation, name } = said.message;
          const known = incarnations.get(process);
          const count = endings.get(name) ?? 0;
          if (known !== undefined && known.incarnation !== incarnation && known.endings === count) {
            report(`${name} gave up everything it had, although its lease was not over and nobody had removed it`);
          }
          incarnations.set(process, { incarnation, endings: count });
        }
        if (said.about !== "scheduler" || said.message.kind !== "order") return;
        const { namespace, replicationFactor } = said.message;
        for (const { type, version, hosts } of said.message.tables) {
          const key = `${namespace}/${type}/${version.number}`;
          const known = tables.get(key) ?? [];
          tables.set(key, known);
          const addresses = hosts.map(({ address }) => address);
          if (!known.some((one) => String(one.addresses) === String(addresses))) {
            known.push({ addresses, factor: replicationFactor });
          }
        }
      },
      activated(life) {
        if (!followsRing(stage.plan, life.type)) return;
        lives.set(nameOf(life), life);
        void doorOf(life.process)
          ?.where(life.type, life.id)
          .then(({ version }) => begun.set(life.number, version));
      },
      deactivated(life, reason) {
        const from = begun.get(life.number);
        begun.delete(life.number);
        if (lives.get(nameOf(life)) === life) lives.delete(nameOf(life));
        const door = doorOf(life.process);
        if (reason !== "moved" || from === undefined || door === undefined) return;
        const { address } = door.status();
        void door.where(life.type, life.id).then(({ here, version }) => {
          if (here && stayed(life, from, version, address)) {
            report(
              `${labelOf(life)} had to leave process ${life.process.number}, its owner from ${from} to ${version}`,
            );
          }
        });
      },
      answered({ call, namespace, token, beganAt, outcome }) {
        if (outcome === undefined || !("error" in outcome) || !isLimpetError(outcome.error, "NOT_SETTLED")) return;
        // The error may concern another actor, which this one called first.
        if (call.how.via !== undefined) return;
        const life = lives.get(nameOf({ namespace, type: call.type, id: call.id }));
        if (life === undefined || life.bornAt > beganAt || !life.process.isAwake) return;
        const door = doorOf(life.process);
        // A stopping host without a successor for a type accepts no calls for it.
        if (door?.status().problem === "this process is stopping") return;
        void door?.where(life.type, life.id).then(({ here, activeHere }) => {
          if (!here || !activeHere) return;
          report(`${token} was told NOT_SETTLED, and ${labelOf(life)} was at process ${life.process.number} all along`);
        });
      },
    };
  },
};
