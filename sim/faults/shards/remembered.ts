// Faults while a host persists or reads the remembered actors of a shard.
import type { Plan } from "../../plan.ts";
import { asks, dies, done, hangs } from "../at-work.ts";
import { atEvent, atShard } from "./at-shard.ts";

const remembers = ({ sharded = {} }: Plan): boolean => Object.values(sharded).some(({ remember }) => remember);
export const homeDiesBeforeRemembering = atShard(
  "home dies before it remembers",
  "a host ends when it is about to have written that an actor is remembered, or is not any more",
  atEvent(asks("remember")),
  dies,
  remembers,
);
export const homeDiesRemembering = atShard(
  "home dies when it remembers",
  "a host ends when it was written that an actor is remembered, or is not any more, and it does not know",
  atEvent(done("remember")),
  dies,
  remembers,
);
export const homeHangsRecalling = atShard(
  "home hangs when it recalls",
  "a host hangs when it reads which actors of a shard are remembered",
  atEvent(asks("recall")),
  hangs,
  remembers,
);
