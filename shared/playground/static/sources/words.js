/** Words and sentences of texts, in any language, and which of several texts another one is about. */

const words = new Intl.Segmenter(undefined, { granularity: "word" });

/** The words of a text that tell something, each once and as it is in most of its forms. @param {string} text */
export function stemsOf(text) {
  const found = new Set();
  for (const { segment, isWordLike } of words.segment(text)) {
    // Short words tell something if they have a digit, or are signs of a script in which words are short.
    if (isWordLike && (segment.length > 2 || /[\p{N}\u0900-\uffff]/u.test(segment))) found.add(stemOf(segment.toLowerCase()));
  }
  return found;
}

/** What is the same in most forms of a word. @param {string} word */
export function stemOf(word) {
  return word.length > 5 ? word.slice(0, Math.max(5, word.length - 2)) : word.replace(/s$/u, "");
}

/**
 * Which text has the most of another one's words; a word counts the more, the fewer texts have it.
 * @param {string[]} texts
 * @param {string} about
 * @returns {number} its index; -1: none has any.
 */
export function closestOf(texts, about) {
  const wanted = [...stemsOf(about)];
  const stems = texts.map(stemsOf);
  const weights = wanted.map((word) => 1 / (stems.filter((one) => one.has(word)).length || 1));
  const scores = stems.map((one) => wanted.reduce((sum, word, index) => sum + (one.has(word) ? (weights[index] ?? 0) : 0), 0));
  const best = Math.max(0, ...scores);
  return best ? scores.indexOf(best) : -1;
}
