// Waits until no runnable code is left: all settled promises have run their callbacks, and so on.
export type Settle = () => Promise<void>;
