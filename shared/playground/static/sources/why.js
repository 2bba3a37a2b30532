/** Why an answer has its sources: which are cited and where, what they scored, and which words of the question they hold. */
import { withAttached } from "./attached.js";
import { CITATION, citationsIn, keyOf } from "./cited.js";
import { stemOf, stemsOf } from "./words.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").Source} Source */
/** @typedef {import("../types.js").Thought} Thought */

/**
 * @typedef {{
 *   source: Source, rank: number, number: number, score: number | null, rerankerScore: number | null,
 *   words: string[], sentences: string[],
 * }} Why `number` is that of the citation in the text, from 1; 0: it is not cited.
 */

const WORD = /[\p{L}\p{N}]{3,}/gu;
const EVERYWHERE = new Set(
  ("the and for are was were with what which who whom whose how does did can could will would should have has had not this " +
    "that there from into about its our your you they them der die das und ist sind wie was wer wem wen welche wird werden " +
    "ein eine einer eines den dem des mit von für auf aus bei nicht les des est une que qui dans pour avec sur")
    .split(" "),
);

/** All texts of an answer: one, or those of the agents. @param {Turn} turn */
export function textsOf(turn) {
  return turn.agents.value.length ? turn.agents.value.map((agent) => agent.text.value) : [turn.text.value];
}

/** The passages that an answer has for sources, each once, best first. @param {Turn} turn */
export function sourcesOf(turn) {
  const found = [turn.sources.value, ...turn.agents.value.map((agent) => agent.sources.value)].flat();
  return [...new Map(found.map((source) => [keyOf(source), source])).values()];
}

/** All steps of an answer, in order. @param {Turn} turn @returns {Thought[]} */
export function thoughtsOf(turn) {
  return [turn.thoughts.value, ...turn.agents.value.map((agent) => agent.thoughts.value)].flat();
}

/** The citations of an answer, in order. @param {Turn} turn */
function citationsOf(turn) {
  const sources = withAttached(sourcesOf(turn), turn);
  return textsOf(turn).flatMap((text) => citationsIn(text, sources));
}

/** How many passages an answer cites. @param {Turn} turn */
export const countCited = (turn) => new Set(citationsOf(turn).map(({ source }) => keyOf(source))).size;

/** The citations that name nothing that was found. @param {Turn} turn */
export function unverifiedIn(turn) {
  const named = thoughtsOf(turn)
    .filter((thought) => thought.title === "Unverified citations")
    .flatMap((thought) => (Array.isArray(thought.description) ? thought.description.map(String) : []));
  return [...new Set(named)];
}

/** Why each source is there, the cited ones first, by their numbers. @param {Turn} turn @returns {Why[]} */
export function reasonsOf(turn) {
  const citations = citationsOf(turn);
  const cited = [...new Set(citations.map((citation) => keyOf(citation.source)))]; // the place of a passage is its number
  const scores = scoresIn(thoughtsOf(turn));
  const words = wordsOf(turn.question);
  const citable = withAttached(sourcesOf(turn), turn).filter((source) => !source.file || cited.includes(keyOf(source)));
  const reasons = citable.map((source, index) => {
    const has = stemsOf(source.text);
    const key = keyOf(source);
    return {
      source,
      rank: index + 1,
      number: cited.indexOf(key) + 1,
      score: scores.get(source.id)?.score ?? null,
      rerankerScore: scores.get(source.id)?.reranker ?? null,
      words: words.filter((word) => has.has(stemOf(word))),
      sentences: [...new Set(citations.filter((one) => keyOf(one.source) === key).map((one) => one.sentence))].filter(Boolean),
    };
  });
  return reasons.sort((one, other) => (one.number || Infinity) - (other.number || Infinity) || one.rank - other.rank);
}

/**
 * The best scores of each source, by the records of the steps 'Results'.
 * @param {Thought[]} thoughts
 */
function scoresIn(thoughts) {
  /** @type {Map<string, { score: number | null, reranker: number | null }>} */
  const scores = new Map();
  for (const { title, description } of thoughts) {
    if (title !== "Results" || !Array.isArray(description)) continue;
    for (const result of description) {
      const before = scores.get(result?.sourcepage);
      scores.set(String(result?.sourcepage), {
        score: better(before?.score, result?.score),
        reranker: better(before?.reranker, result?.reranker_score),
      });
    }
  }
  return scores;
}

/** @param {number | null | undefined} one @param {unknown} other */
function better(one, other) {
  if (typeof other !== "number") return one ?? null;
  return one === null || one === undefined ? other : Math.max(one, other);
}

/** The words of a text that say something, each once. @param {string} text */
export function wordsOf(text) {
  const words = [...text.matchAll(WORD)].map(([word]) => word.toLowerCase());
  return [...new Set(words)].filter((word) => !EVERYWHERE.has(word));
}

/**
 * A text of an answer with the numbers of its sources in place of their names.
 * @param {string} text @param {Turn} turn @param {(number: number) => string} write what stands for a number.
 */
export function numbered(text, turn, write) {
  const numbers = new Map(reasonsOf(turn).map(({ source, number }) => [keyOf(source), number]));
  const ends = new Map(citationsIn(text, withAttached(sourcesOf(turn), turn)).map(({ end, source }) => [end, numbers.get(keyOf(source))]));
  return text.replace(CITATION, (whole, _, at) => {
    const number = ends.get(at + whole.length);
    return number ? write(number) : whole;
  });
}
