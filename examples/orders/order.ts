// An order that is charged, waits up to three days for an approval, and is shipped or refunded. Activities
// have the effects outside; the workflow decides.
import { query, signal, workflow } from "limpet";

export interface Order {
  readonly customer: string;
  readonly items: readonly string[];
}

export const approved = signal<boolean>("approved");
export const stage = query<string>("stage");

export async function charge({ customer, items }: Order): Promise<string> {
  return `receipt of ${customer} for ${items.length}`;
}

export async function refund(_receipt: string): Promise<void> {}

export async function ship(_order: Order): Promise<{ tracking: string }> {
  return { tracking: "LT-1" };
}

export const order = workflow("order", async (ctx, input: Order) => {
  let at = "charging";
  ctx.onQuery(stage, () => at);
  const receipt = await ctx.activity(charge, input, { retry: { attempts: 5, initial: "10s" } });
  at = "waiting for approval";
  const isApproved = await ctx.signal(approved, { within: "3d" });
  if (isApproved !== true) {
    at = "refunding";
    await ctx.activity(refund, receipt);
    return "refunded";
  }
  at = "shipping";
  const { tracking } = await ctx.activity(ship, input);
  return tracking;
});
