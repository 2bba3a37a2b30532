/** What of a growing answer waits for its other half: it would be shown as something else first, and then change. */
import { FORMULAS } from "./maths.js";

const FENCE = /^[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}|~{3,})([^`]*)$/;
/** A line that may become a list, a heading, a rule, a fence or a formula. */
const SIGNS = /^[\s>]*[-=*_+#`~|:\\$[\d.)]+\s*$/;
const ROW = /^\s*\|/;
/** A citation or a link, code, strong words or a formula, whose end has not come. */
const OPEN =
  /\[[^[\]\n]{0,300}(?:\](?:\([^()\s]{0,2000})?)?$|`[^`\n]{0,100}$|\*{1,3}$|\*{1,2}[^\s*][^*\n]{0,60}\*?$|\\[([]|\\$|\$\$|\$(?:[^\s\d$][^$\n]{0,100})?$/;
const CLOSED = /(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)|(?<!\*)(\*{1,3})[^\s*][^*\n]*\2(?!\*)/g;

/** @param {string} text @returns {string} its beginning that can be shown. */
export function withoutHalf(text) {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  if (isInFence(lines)) return /^\s*[`~]+\s*$/.test(last) ? text.slice(0, text.length - last.length) : text;
  const held = halfTable([...lines, last]) || (SIGNS.test(last) || FENCE.test(last) ? last.length : 0);
  const shown = text.slice(0, text.length - held);
  const begin = shown.lastIndexOf("\n\n") + 1;
  const open = shown.slice(begin).replace(CLOSED, masked).replace(FORMULAS, masked).search(OPEN);
  return open < 0 ? shown : shown.slice(0, begin + open);
}

/** @param {string} found */
const masked = (found) => " ".repeat(found.length);

/** @param {string[]} lines whole ones. */
function isInFence(lines) {
  let open = "";
  for (const line of lines) {
    const [, signs = "", rest = ""] = FENCE.exec(line) ?? [];
    if (!open) open = signs;
    else if (signs.startsWith(open) && !rest.trim()) open = "";
  }
  return open !== "";
}

/** How long the end of a text is that is a table without its second line. @param {string[]} lines */
function halfTable(lines) {
  const [last = "", second = "", third = ""] = lines.slice(-3).reverse();
  if (ROW.test(second) && !ROW.test(third) && (ROW.test(last) || !last.trim())) return second.length + 1 + last.length;
  return ROW.test(last) && !ROW.test(second) ? last.length : 0;
}
