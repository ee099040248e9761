// Messages between the two sides of a virtual link.
import type { Ownership, RemoteCall } from "../../ports/links.ts";
import type { encodeArguments } from "../../wire/link/payloads.ts";

/** As on a real link, a call is sent only after the other side has introduced itself. */
export type VirtualLinkMessage =
  | { readonly kind: "hello" }
  | { readonly kind: "call"; readonly number: number; readonly call: Travelling }
  | { readonly kind: "cancel"; readonly number: number }
  | { readonly kind: "value"; readonly number: number; readonly text: string }
  | { readonly kind: "error"; readonly number: number; readonly text: string }
  | { readonly kind: "notOwner"; readonly number: number; readonly ownership: Ownership }
  | { readonly kind: "bye" };

export type Travelling = Omit<RemoteCall, "args"> & { readonly args: ReturnType<typeof encodeArguments> };
