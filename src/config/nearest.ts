// "Did you mean …?" for names of settings and for words of the command line.
export { didYouMean, nearest } from "../kernel/nearest.ts";
