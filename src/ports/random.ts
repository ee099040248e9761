// Random numbers as the modules see them: seeded in the simulator.

export interface Random {
  /** A number in [0, 1). */
  number(): number;
  /** 128 random bits as 22 characters that are safe anywhere. */
  id(): string;
}
