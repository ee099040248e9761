// An account that looks right and is not. It sends money in one turn: it takes the amount from itself and
// gives it to the other account. If that call fails, the turn throws, and Limpet restores the amount. Where
// is the bug?
import { Actor } from "limpet";

export class NaiveAccount extends Actor<{ balance: number }> {
  initial() {
    return { balance: 100 };
  }

  async send(to: string, amount: number) {
    if (amount > this.state.balance) throw new RangeError(`only ${this.state.balance} left`);
    this.state.balance -= amount;
    await this.actor(NaiveAccount, to).receive(amount);
  }

  receive(amount: number) {
    this.state.balance += amount;
  }

  balance() {
    return this.state.balance;
  }
}
