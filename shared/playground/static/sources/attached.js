/** The files of a conversation, as what its answers may cite beside the documents. */
import { allTurns } from "../state.js";

/** @typedef {import("../types.js").Source} Source */

/**
 * Add the files of a turn, and of those before it, to what was found for it: the last one of a name, if no document has it.
 * @param {Source[]} sources
 * @param {import("../types.js").Turn} turn
 * @returns {Source[]}
 */
export function withAttached(sources, turn) {
  const found = [...sources];
  /** @type {import("../types.js").Turn | undefined} */
  let one = turn;
  for (; one; one = allTurns.peek().find((other) => other.id === one?.parent)) {
    for (const file of one.attachments) {
      const id = file.name.replaceAll("[", "(").replaceAll("]", ")"); // as the app names it to the model
      if (!found.some((source) => source.id === id)) found.push({ id, title: id, url: "", text: "", file });
    }
  }
  return found;
}
