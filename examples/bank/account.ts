// Accounts that never create or lose money. A turn commits only the state of one actor: the receiver keeps
// its money when the sender throws, crashes, or loses the answer. So every transfer has an id, an account
// executes an id only once, and a caller that does not know the outcome repeats the transfer.
import { Actor } from "limpet";

interface Book {
  balance: number;
  /** Transfers that are part of the balance. A bank would delete them after a month. */
  done: Set<string>;
}

export class Account extends Actor<Book> {
  initial(): Book {
    return { balance: 100, done: new Set() };
  }

  withdraw(transfer: string, amount: number) {
    if (this.state.done.has(transfer)) return;
    if (amount > this.state.balance) throw new RangeError(`only ${this.state.balance} left`);
    this.state.balance -= amount;
    this.state.done.add(transfer);
  }

  deposit(transfer: string, amount: number) {
    if (this.state.done.has(transfer)) return;
    this.state.balance += amount;
    this.state.done.add(transfer);
  }

  balance() {
    return this.state.balance;
  }
}

/** One transfer. The requester chooses its id, so that a repeated request means the same transfer. */
export class Transfer extends Actor<{ isDone: boolean }> {
  initial() {
    return { isDone: false };
  }

  async run(from: string, to: string, amount: number) {
    if (this.state.isDone) return;
    await this.actor(Account, from).withdraw(this.id, amount);
    await this.actor(Account, to).deposit(this.id, amount);
    this.state.isDone = true;
  }
}
