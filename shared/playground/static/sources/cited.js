/** What a text cites. It is read without the libraries of Markdown, which come with the first answer. */
import { closestOf } from "./words.js";

/** @typedef {import("../types.js").Source} Source */
/** @typedef {{ end: number, passage: number, source: Source, sentence: string }} Citation `end` is behind the bracket. */

/** A citation: a name in brackets, which is group 1, and not the label of a link. */
export const CITATION = /\[([^[\]\n]{1,300})\](?!\()/gu;
const SENTENCE_END = /[.!?؟](?=\s)|[。！？\n]/gu;
const LONGEST = 800;

/** What tells a passage from others. @param {Source} source */
export const keyOf = (source) => `${source.id}\n${source.text}`;

/**
 * The citations of a text. Of several passages with the cited name it is the one that the sentence is about.
 * @param {string} text
 * @param {Source[]} sources
 * @returns {Citation[]}
 */
export function citationsIn(text, sources) {
  const byName = Map.groupBy(sources, (source) => source.id);
  return [...text.matchAll(CITATION)].flatMap((found) => {
    const passages = byName.get(found[1] ?? "");
    if (!passages) return [];
    const end = found.index + found[0].length;
    const before = sentenceBefore(text.slice(Math.max(0, found.index - LONGEST), found.index));
    const sentence = plain(before) || plain(text.slice(end, end + LONGEST).split(SENTENCE_END)[0] ?? "");
    const passage = passages.length > 1 ? Math.max(0, closest(passages, sentence)) : 0;
    return [{ end, passage, source: /** @type {Source} */ (passages[passage]), sentence }];
  });
}

/** The last sentence of a text, which other citations may follow. @param {string} text */
function sentenceBefore(text) {
  const said = text.replace(CITATION, "").trimEnd();
  const ends = [...said.slice(0, -1).matchAll(SENTENCE_END)];
  return said.slice((ends.at(-1)?.index ?? -1) + 1);
}

/** @param {string} sentence */
const plain = (sentence) => sentence.replace(CITATION, "").replace(/\*\*|^[#>\-*\s]+/gu, "").trim();

/** Answers are read again while they grow. @type {WeakMap<Source, Map<string, number>>} */
const known = new WeakMap();

/** @param {Source[]} passages @param {string} sentence */
function closest(passages, sentence) {
  const first = /** @type {Source} */ (passages[0]);
  const answers = known.get(first) ?? new Map();
  known.set(first, answers);
  const asked = `${passages.length} ${sentence}`;
  if (!answers.has(asked)) answers.set(asked, closestOf(passages.map((one) => one.text), sentence));
  return answers.get(asked);
}
