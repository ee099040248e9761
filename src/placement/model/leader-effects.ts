// The effects that the decisions of a leader may request from its driver, in their order.
import type { ChangeReason, TypeTable } from "../../ports/control-messages.ts";
import type { HostRecord } from "./connection-controller.ts";
import type { StickyEffect } from "./sticky-coordinator.ts";

export type Effect =
  /** The same message to many streams, so that it is encoded once; and the results of sticky requests. */
  | StickyEffect
  | {
      readonly kind: "close";
      readonly stream: number;
      readonly code: "ADDRESS_IN_USE" | "PROTOCOL" | "NOT_READY" | "OPTION_INVALID";
      readonly why: string;
    }
  /** Record durably that a host may hold these types; answer with `saved`. */
  | {
      readonly kind: "save";
      readonly host: HostRecord;
      readonly types: readonly string[];
      /** A record exists already. */
      readonly isKnown: boolean;
    }
  | { readonly kind: "drop"; readonly incarnation: string }
  /** For display and metrics. */
  | { readonly kind: "began"; readonly table: TypeTable; readonly reason: ChangeReason }
  | { readonly kind: "settled"; readonly type: string; readonly tookMs: number }
  | {
      readonly kind: "host";
      readonly event: "joined" | "returned" | "suspect" | "evicted" | "removed";
      readonly host: HostRecord;
      readonly why: string;
    };
