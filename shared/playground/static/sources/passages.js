/** Finds a passage in the text of a document, and marks it. */

const LETTER = /[\p{L}\p{N}]/u;
const WORDS_IN_PIECE = 6;
const LETTERS_BETWEEN = 60;

/**
 * Where a text has a passage. Only letters and digits count: readers of documents join lines, drop hyphens and Markdown,
 * and write tables in their own way. What is not there as a whole is looked for piece by piece, in order.
 * @param {string} text
 * @param {string} passage
 * @returns {[number, number][]} begin and end, in UTF-16 units; empty: not found.
 */
export function rangesOf(text, passage) {
  const there = lettersOf(text);
  const wanted = lettersOf(passage).letters;
  if (!wanted) return [];
  const whole = there.letters.indexOf(wanted);
  const found = whole >= 0 ? [/** @type {[number, number]} */ ([whole, whole + wanted.length])] : piecesIn(there.letters, passage);
  return found.map(([start, end]) => [there.places[start] ?? 0, (there.places[end - 1] ?? 0) + 1]);
}

/**
 * @param {string} letters
 * @param {string} passage
 * @returns {[number, number][]}
 */
function piecesIn(letters, passage) {
  const words = passage.split(/\s+/u).map((word) => lettersOf(word).letters).filter(Boolean);
  /** @type {[number, number][]} */
  const found = [];
  let from = 0;
  for (let at = 0; at < words.length; at += WORDS_IN_PIECE) {
    const piece = words.slice(at, at + WORDS_IN_PIECE).join("");
    if (piece.length < 8 && words.length > WORDS_IN_PIECE) continue; // a short rest is found anywhere
    const start = letters.indexOf(piece, from);
    if (start < 0) continue;
    from = start + piece.length;
    const last = found.at(-1);
    if (last && start - last[1] <= LETTERS_BETWEEN) last[1] = from;
    else found.push([start, from]);
  }
  return found;
}

/**
 * The letters of a text in lower case, and where each was.
 * @param {string} text
 */
function lettersOf(text) {
  const places = [];
  let letters = "";
  let at = 0;
  for (const character of text) {
    if (LETTER.test(character)) {
      // A few characters become two in lower case or as ligatures: all of them are in the place of the one.
      for (const small of character.normalize("NFKC").toLowerCase()) {
        letters += small;
        for (let unit = 0; unit < small.length; unit += 1) places.push(at);
      }
    }
    at += character.length;
  }
  return { letters, places };
}

/**
 * Mark a passage in an element, and return its first mark; null: it is not there.
 * @param {HTMLElement} root
 * @param {string} passage
 * @param {string} [kind] the class of the marks.
 * @param {string} [inside] a selector of the only elements in which it is looked for; empty: everywhere.
 */
export function markIn(root, passage, kind = "passage", inside = "") {
  const nodes = textNodesOf(root).filter((node) => !inside || node.parentElement?.closest(inside));
  // A space between elements, so that the end of one and the beginning of the next are no word.
  const text = nodes.map((node) => node.data).join(" ");
  let first = null;
  let offset = 0;
  const ranges = rangesOf(text, passage);
  for (const node of nodes) {
    const length = node.data.length;
    const inside = ranges
      .map(([start, end]) => [Math.max(start - offset, 0), Math.min(end - offset, length)])
      .filter(([start, end]) => /** @type {number} */ (start) < /** @type {number} */ (end))
      .filter(([start, end]) => node.data.slice(start, end).trim()); // a mark between two cells of a table would be a cell
    for (const [start, end] of inside.reverse()) {
      const mark = markPart(node, /** @type {number} */ (start), /** @type {number} */ (end), kind);
      if (!first || mark.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_FOLLOWING) first = mark;
    }
    offset += length + 1;
  }
  return first;
}

/**
 * Mark a passage, and in it the sentence that is cited; return what is to be seen first, null: it is not there.
 * @param {HTMLElement} root
 * @param {string} passage
 * @param {string} cited empty: none is.
 */
export function markCited(root, passage, cited) {
  const mark = markIn(root, passage);
  const sentence = mark && cited ? markIn(root, cited, "cited", "mark.passage") : null;
  root.classList.toggle("has-cited", sentence !== null);
  if (sentence) markMargin(root);
  return sentence ?? mark;
}

/** Draw a line beside the passage, at the edge where its lines begin. @param {HTMLElement} root */
function markMargin(root) {
  const boxes = [...root.querySelectorAll("mark.passage")].map((mark) => mark.getBoundingClientRect()).filter(({ height }) => height);
  if (!boxes.length) return;
  const [top, bottom] = [Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom))];
  const from = root.getBoundingClientRect();
  const edge = getComputedStyle(root).direction === "rtl" ? from.right - Math.max(...boxes.map((box) => box.right)) : Math.min(...boxes.map((box) => box.left)) - from.left;
  const line = Object.assign(document.createElement("div"), { className: "margin" });
  Object.assign(line.style, { top: `${top - from.top}px`, height: `${bottom - top}px`, insetInlineStart: `${Math.max(edge - 10, 2)}px` });
  root.append(line);
}

/** @param {HTMLElement} root */
function textNodesOf(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
  return nodes;
}

/** @param {Text} node @param {number} start @param {number} end @param {string} kind */
function markPart(node, start, end, kind) {
  const part = start ? node.splitText(start) : node;
  if (end - start < part.data.length) part.splitText(end - start);
  const mark = document.createElement("mark");
  mark.className = kind;
  part.replaceWith(mark);
  mark.append(part);
  return mark;
}

/**
 * Remove the marks of a kind.
 * @param {HTMLElement} root
 * @param {string} kind
 */
export function unmark(root, kind) {
  for (const mark of root.querySelectorAll(`mark.${kind}`)) {
    const parent = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    parent?.normalize();
  }
}
