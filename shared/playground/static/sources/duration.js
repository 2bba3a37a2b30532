/** Writes a time for people. */
import { number } from "../texts.js";

/** @param {number} milliseconds */
export function duration(milliseconds) {
  if (milliseconds < 10) return `${number(milliseconds, 1)} ms`;
  return milliseconds < 1000 ? `${number(milliseconds, 0)} ms` : `${number(milliseconds / 1000, 2)} s`;
}
