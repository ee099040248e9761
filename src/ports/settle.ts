// Waiting until everything that could go on has gone on: every promise that is settled has told those who waited for it, and so on.
export type Settle = () => Promise<void>;
