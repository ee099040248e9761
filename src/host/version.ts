// The version of this copy of Limpet. Not read from package.json, which a bundle of an app does not have; a test keeps the two equal.

export const VERSION = "0.1.0";
