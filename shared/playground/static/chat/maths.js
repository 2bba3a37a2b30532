/**
 * Maths in Markdown: `\(a\)`, `\[a\]`, `$$a$$` and `$a$`, which KaTeX sets. It is loaded with the first formula, and makes
 * elements: nothing of a formula is read as HTML. What it does not understand stays as it was written.
 */
import { useStyle } from "../lazy.js";
import { decorate } from "./morph.js";
import { t } from "../texts.js";

const LONGEST = 10_000;
const PARAGRAPH = String.raw`(?:(?!\n[ \t]*\n)[\s\S])+?`;
const BLOCK = new RegExp(String.raw`^ {0,3}(?:\\\[${PARAGRAPH}\\\]|\$\$${PARAGRAPH}\$\$)[ \t]*(?:\n|$)`);
const DELIMITED = String.raw`\\\(${PARAGRAPH}\\\)|\\\[${PARAGRAPH}\\\]|\$\$${PARAGRAPH}\$\$`;
const INLINE = new RegExp(`^(?:${DELIMITED})`);
/** As Pandoc has it: no space inside the signs, and no digit behind them, so that "$5 and $6" are prices. */
const DOLLARS = String.raw`\$(?![\s$])((?:\\[\s\S]|[^\\$\n\x60]){1,500}?)(?<!\s)\$(?!\d)`;
const IN_DOLLARS = new RegExp(`^${DOLLARS}`);
/** Whole formulas in a text. */
export const FORMULAS = new RegExp(`${DELIMITED}|${DOLLARS}`, "g");

/** @typedef {import("../vendor/marked.js").Token} Token */

/** @param {string} raw @param {boolean} isBlock */
const token = (raw, isBlock) => ({ type: isBlock ? "mathBlock" : "math", raw, source: raw.trim() });

/** What marked needs to find formulas, before it reads their signs as its own.
 * @param {(text: string) => string} escaped */
export const mathsIn = (escaped) => [
  {
    name: "mathBlock",
    level: /** @type {const} */ ("block"),
    start: (/** @type {string} */ text) => /^ {0,3}(?:\\\[|\$\$)/m.exec(text)?.index,
    /** @param {string} text */
    tokenizer(text) {
      const found = BLOCK.exec(text);
      return found ? token(found[0], true) : undefined;
    },
    renderer: (/** @type {any} */ { source }) => `<div class="math display" dir="ltr" tabindex="0" role="group" aria-label="${escaped(t("answer.formula"))}">${escaped(source)}</div>`,
  },
  {
    name: "math",
    level: /** @type {const} */ ("inline"),
    start: (/** @type {string} */ text) => /\\[([]|\$/.exec(text)?.index,
    /** @param {string} text @param {Token[]} before */
    tokenizer(text, before) {
      const raw = INLINE.exec(text)?.[0] ?? inDollars(text, before.at(-1)?.raw ?? "");
      return raw ? token(raw, false) : undefined;
    },
    renderer: (/** @type {any} */ { source }) =>
      `<span class="math${/^(?:\\\[|\$\$)/.test(source) ? " display" : ""}" dir="ltr">${escaped(source)}</span>`,
  },
];

/** @param {string} text @param {string} before */
function inDollars(text, before) {
  const [raw = "", formula = ""] = /[\p{L}\p{N}\\$]$/u.test(before) ? [] : (IN_DOLLARS.exec(text) ?? []);
  return raw && isFormula(formula, text.slice(raw.length)) ? raw : undefined;
}

/** Whether what stands between two dollar signs is no prose with prices or variables of a shell.
 * @param {string} text @param {string} after */
function isFormula(text, after) {
  if (/^\p{L}/u.test(after) && !/\\|\^|^\p{L}$/u.test(text)) return false;
  if (/[\\^_={}]/.test(text)) return text.includes("\\") || !/(?:\s\p{L}{2,}){3}/u.test(text);
  return !/\p{L}{4}|\s.*\p{L}{2}|\p{L}{2}.*\s/u.test(text);
}

/** @type {typeof import("../vendor/katex.js").default | null} */
let katex = null;
/** @type {Promise<void> | null} */
let loading = null;

async function load() {
  const [loaded] = await Promise.all([import("../vendor/katex.js"), useStyle("vendor/katex.css")]);
  katex = loaded.default;
}

/** Set the formulas of an element, at once if KaTeX is there.
 * @param {HTMLElement} root */
export function typeset(root) {
  const found = /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".math:not(.typeset, .source)"));
  if (!found.length) return;
  if (katex) for (const one of found) typesetOne(one, katex);
  else {
    loading ??= load();
    loading.then(
      () => typeset(root),
      () => (loading = null),
    );
  }
}

/** @param {HTMLElement} element @param {NonNullable<typeof katex>} library */
function typesetOne(element, library) {
  const source = element.textContent ?? "";
  const formula = source.replace(/^(?:\\[([]|\$\$?)|(?:\\[)\]]|\$\$?)$/g, "").trim();
  const set = document.createElement("span");
  try {
    if (formula.length > LONGEST) throw new RangeError("too long");
    const displayMode = element.classList.contains("display");
    library.render(formula, set, { displayMode, throwOnError: true, strict: "ignore", trust: false, maxSize: 20, maxExpand: 500 });
    decorate(element, "typeset", set);
  } catch {
    decorate(element, "source", source);
  }
}
