/** Which words of two texts differ. */

/** @typedef {{ text: string, differs: boolean }} Piece */

const LARGEST_TABLE = 4_000_000; // words of one times words of the other; beyond it the middle differs as a whole

/**
 * @param {string} one
 * @param {string} other
 * @returns {[Piece[], Piece[]]} the pieces of each, in order.
 */
export function differences(one, other) {
  const [left, right] = [wordsOf(one), wordsOf(other)];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < Math.min(left.length, right.length) - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const middles = [left.slice(start, left.length - end), right.slice(start, right.length - end)];
  const common = commonWords(middles[0] ?? [], middles[1] ?? []);
  const pieces = [left, right].map((words, side) => {
    const marks = words.map((_, index) => {
      const inMiddle = index - start;
      return inMiddle >= 0 && inMiddle < words.length - end - start && !common[side]?.has(inMiddle);
    });
    return joined(words, marks);
  });
  return [pieces[0] ?? [], pieces[1] ?? []];
}

/** Words and the blanks between them. @param {string} text */
const wordsOf = (text) => text.split(/(\s+)/).filter(Boolean);

/**
 * The longest common subsequence of two lists, as the places of its words in each.
 * @param {string[]} one
 * @param {string[]} other
 * @returns {[Set<number>, Set<number>]}
 */
function commonWords(one, other) {
  /** @type {[Set<number>, Set<number>]} */
  const places = [new Set(), new Set()];
  const width = other.length + 1;
  if (!one.length || !other.length || one.length * other.length > LARGEST_TABLE) return places;
  const lengths = new Uint32Array((one.length + 1) * width);
  const at = (/** @type {number} */ row, /** @type {number} */ column) => lengths[row * width + column] ?? 0;
  for (let row = one.length - 1; row >= 0; row -= 1) {
    for (let column = other.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        one[row] === other[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  for (let row = 0, column = 0; row < one.length && column < other.length; ) {
    if (one[row] === other[column]) {
      places[0].add(row++);
      places[1].add(column++);
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return places;
}

/** @param {string[]} words @param {boolean[]} marks @returns {Piece[]} */
function joined(words, marks) {
  /** @type {Piece[]} */
  const pieces = [];
  words.forEach((text, index) => {
    const differs = marks[index] ?? false;
    const last = pieces.at(-1);
    if (last?.differs === differs) last.text += text;
    else pieces.push({ text, differs });
  });
  return pieces;
}
