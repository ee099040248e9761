// The version of this copy of Limpet. It is not read from package.json, which a bundled app does not have; a
// test keeps both equal.

export const VERSION = "0.1.0";
