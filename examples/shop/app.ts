// A small shop: carts that remember their items, stock that cannot be sold twice, and a leaderboard that
// updates itself. Run it with `npm start`, or `npx limpet dev examples/shop/app.ts --watch` while you change
// it.
import { Actor, type ActorOptions } from "limpet";

class OutOfStock extends Error {
  override name = "OutOfStock";
  code = "OUT_OF_STOCK";
}

/** One article: its quantity, and the pieces reserved for carts. */
export class Stock extends Actor<{ left: number; held: Map<string, number> }> {
  initial() {
    return { left: 10, held: new Map<string, number>() };
  }

  /** Reserves pieces for a cart. Runs alone, so the last piece is never promised twice. */
  hold(cart: string, quantity: number) {
    if (quantity > this.state.left) throw new OutOfStock(`only ${this.state.left} of ${this.id} left`);
    this.state.left -= quantity;
    this.state.held.set(cart, (this.state.held.get(cart) ?? 0) + quantity);
    return this.state.left;
  }

  /** Sells the pieces of the cart. */
  take(cart: string) {
    const quantity = this.state.held.get(cart) ?? 0;
    this.state.held.delete(cart);
    return quantity;
  }

  /** Returns the pieces of the cart to the shelf. */
  release(cart: string) {
    this.state.left += this.take(cart);
    return this.state.left;
  }

  deliver(quantity: number) {
    this.state.left += quantity;
    return this.state.left;
  }

  look() {
    return { left: this.state.left, held: Object.fromEntries(this.state.held) };
  }
}

/** One customer's cart. */
export class Cart extends Actor<{ items: Map<string, number>; orders: number }> {
  static options = { idleTimeout: "30m" } satisfies ActorOptions;

  initial() {
    return { items: new Map<string, number>(), orders: 0 };
  }

  async add(article: string, quantity = 1) {
    if (!Number.isInteger(quantity) || quantity < 1) throw new RangeError("quantity must be a whole number from 1");
    await this.actor(Stock, article).hold(this.id, quantity);
    this.state.items.set(article, (this.state.items.get(article) ?? 0) + quantity);
    return this.show();
  }

  async remove(article: string) {
    if (!this.state.items.delete(article)) return this.show();
    await this.actor(Stock, article).release(this.id);
    return this.show();
  }

  show() {
    return Object.fromEntries(this.state.items);
  }

  async checkout() {
    if (this.state.items.size === 0) throw new RangeError("the cart is empty");
    const sold = this.show();
    await Promise.all(Object.keys(sold).map((article) => this.actor(Stock, article).take(this.id)));
    this.state.items.clear();
    this.state.orders += 1;
    const pieces = Object.values(sold).reduce((sum, quantity) => sum + quantity, 0);
    const rank = await this.actor(Leaderboard, "all-time").record(this.id, pieces);
    return { order: `${this.id}-${this.state.orders}`, sold, rank };
  }
}

/** The customers who bought most. */
export class Leaderboard extends Actor<{ pieces: Map<string, number> }> {
  initial() {
    return { pieces: new Map<string, number>() };
  }

  /** Returns the customer's new rank; 1 is first. */
  record(customer: string, pieces: number) {
    this.state.pieces.set(customer, (this.state.pieces.get(customer) ?? 0) + pieces);
    return this.top(this.state.pieces.size).findIndex((entry) => entry.customer === customer) + 1;
  }

  top(count = 10) {
    const entries = [...this.state.pieces].map(([customer, pieces]) => ({ customer, pieces }));
    return entries.sort((a, b) => b.pieces - a.pieces || a.customer.localeCompare(b.customer)).slice(0, count);
  }
}

/** Shown by `limpet dev` when it has started. */
export const tryThese = [`npx limpet call Cart alice add '"tea"' 2`, "npx limpet call Cart alice checkout"];
