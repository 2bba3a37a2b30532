/** What a card shows of a passage: the sentence that an answer is about, between its neighbours. */
import { closestOf } from "./words.js";

/** @typedef {{ before: string, closest: string, after: string }} Excerpt `closest` is empty if no sentence is it. */

const sentences = new Intl.Segmenter(undefined, { granularity: "sentence" });
const LONGEST = 320;

/**
 * @param {string} passage Markdown, or a text.
 * @param {string} about what an answer says, or the question.
 * @returns {Excerpt}
 */
export function excerptOf(passage, about) {
  const parts = partsOf(passage);
  const at = closestOf(parts.map((part) => part.text), about);
  if (at < 0) return { before: parts.slice(0, 3).map((part) => part.text).join(" "), closest: "", after: "" };
  // A row of a table says little without the row that names its columns.
  let before = at - 1;
  if (parts[at]?.isRow) while (parts[before - 1]?.isRow) before -= 1;
  return { before: shortened(parts[before]?.text, true), closest: parts[at]?.text ?? "", after: shortened(parts[at + 1]?.text) };
}

/** The sentences, list items, headings and rows of a passage, without the signs of Markdown. @param {string} passage */
function partsOf(passage) {
  const parts = passage.split("\n").flatMap((line) => {
    const isRow = /^\s*\|/.test(line);
    const text = line.replace(/^[\s>]*(?:#{1,6}\s|[-*+]\s)?|\*\*|__|`/g, "");
    const texts = isRow
      ? [text.split("|").map((cell) => cell.trim()).filter(Boolean).join(" · ")]
      : [...sentences.segment(text)].map(({ segment }) => segment.trim());
    return texts.map((one) => ({ isRow, text: one }));
  });
  return parts.filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
}

/** @param {string} [text] @param {boolean} [isBefore] whether its end is what counts. */
function shortened(text = "", isBefore = false) {
  if (text.length <= LONGEST) return text;
  return isBefore ? `… ${text.slice(-LONGEST)}` : `${text.slice(0, LONGEST)} …`;
}
