// Checks that data of one namespace never appears in another: not in answers, states, calls in flight, tables
// or listings.
import type { RemoteCall } from "../../../src/ports/links.ts";
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf, nameOf } from "../looks.ts";
import { entriesOf } from "./stored-entries.ts";

const PAGE = 100_000;

export const isolation: CheckerKind = {
  name: "isolation",
  rule: "no data of one namespace appears in an answer, a state, a call, a table or a listing of another",
  make(stage, report) {
    const namespaces = new Set(stage.plan.hosts.map(({ namespace }) => namespace));
    const namespaceAt = new Map(stage.players.map(({ planned, host }) => [host.place, planned.namespace]));
    const taken = new Set<string>();
    const isForeign = (word: unknown, namespace: string): boolean => {
      const own = typeof word === "string" ? word.slice(0, word.indexOf(":")) : namespace;
      return own !== namespace;
    };
    const check = (words: readonly unknown[], namespace: string, where: string): void => {
      const foreign = words.find((word) => isForeign(word, namespace));
      if (foreign !== undefined) report(`${foreign} is in ${where} of ${namespace}`);
    };
    return {
      answered({ outcome, namespace, call, token }) {
        if (outcome === undefined || !("value" in outcome)) return;
        const { value } = outcome;
        if (Array.isArray(value)) check(value, namespace, `the answer to ${token}`);
        else if (typeof value === "string" && value !== token) report(`${labelOf(call)} answered ${value} to ${token}`);
      },
      taken(_process, request, { state }) {
        taken.add(nameOf(request));
        // Words of another namespace can be in a state only if there is another namespace.
        if (namespaces.size > 1) check(entriesOf(state), request.namespace, `the state of ${labelOf(request)}`);
      },
      turnBegan({ life, op }) {
        check([op], life.namespace, `a turn of ${labelOf(life)}`);
      },
      sent({ place, number }, to, message) {
        const sent = message as VirtualControlMessage | { readonly kind: "call"; readonly call: RemoteCall };
        if ("kind" in sent && sent.kind === "call") {
          const own = namespaceAt.get(place);
          if (sent.call.namespace !== own) {
            report(`process ${number} of ${own} calls ${labelOf(sent.call)} of ${sent.call.namespace}`);
          }
        } else if ("about" in sent && sent.about === "scheduler" && sent.message.kind === "order") {
          const { namespace } = sent.message;
          if (namespace !== namespaceAt.get(to)) report(`a host of ${namespaceAt.get(to)} gets tables of ${namespace}`);
        }
      },
      healed() {
        // Rows that were taken after the backup are lost.
        if (stage.restoredAt !== undefined) return;
        for (const namespace of namespaces) {
          void stage.world.database.truth.list({ namespace, limit: PAGE }).then((rows) => {
            const listed = rows.map(({ type, id }) => nameOf({ namespace, type, id })).sort();
            const known = [...taken].filter((name) => name.startsWith(`${namespace}/`)).sort();
            if (String(listed) !== String(known)) report(`${namespace} lists ${listed}, and has ${known}`);
          });
        }
      },
    };
  },
};
