/**
 * Markdown to blocks of safe HTML, with citations as chips.
 *
 * A text that grows is read again only from its last block on. Raw HTML is shown as text, images as links, and what is
 * left goes through DOMPurify: an answer may quote anything.
 */
import { Marked } from "../vendor/marked.js";
import DOMPurify from "../vendor/purify.js";
import { CITATION, citationsIn } from "../sources/cited.js";
import { isWorkbench } from "../about.js";
import { shownName } from "../sources/names.js";
import { withoutHalf } from "./halves.js";
import { FORMULAS, mathsIn } from "./maths.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Source} Source */
/** @typedef {{ raw: string, unsafe: string }} Block */

const AT_START = new RegExp(`^\\s*${CITATION.source}`, "u");
const LOOKS_LIKE_A_SOURCE = /^\S.*(\.[A-Za-z0-9]{1,8}|#page=\d+)$/;
const SAFE_LINK = /^(https?:|mailto:)/i;
const TAGS = (
  "p br h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del hr a table thead tbody tr th td span button div"
).split(" ");
/** Stands in a citation before the number of its passage, and before its own among the citations of the text. */
const MARK = "\u2063";
const ATTRIBUTES = ["href", "title", "class", "type", "data-cite", "data-citation", "aria-label", "start", "align", "tabindex", "dir", "role"];

/** @param {string} text */
const escaped = (text) =>
  text.replace(/(?:\u2063\d+)+/g, "").replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** The safe part of HTML, as elements. The only way for text of others into the page.
 * @param {string} html @returns {DocumentFragment} */
export const purified = (html) =>
  DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ADD_ATTR: ["target"],
    RETURN_DOM_FRAGMENT: true,
  });

/** Renders one answer while it grows. Sources have the number of their first citation. */
export class AnswerRenderer {
  #text = "";
  #isWhole = false;
  /** The depth of the first heading. */
  #depth = 0;
  /** @type {Block[]} */
  #blocks = [];
  /** The names of the sources. @type {Set<string>} */
  #names = new Set();
  /** @type {Source[] | null} */
  #given = null;
  /** What the text cites, in the order of its numbers. @type {string[]} */
  cited = [];
  #marked = this.#newMarked();
  #marksUnknown;

  /** @param {boolean} [marksUnknown] whether what looks like a source and is none is marked. */
  constructor(marksUnknown = true) {
    this.#marksUnknown = marksUnknown;
  }

  /**
   * @param {string} text
   * @param {Source[]} sources
   * @param {boolean} isWhole whether nothing follows.
   * @returns {Block[]} those that have not changed are the same objects.
   */
  render(text, sources, isWhole) {
    this.#depth ||= /^ {0,3}(#{1,6})\s/m.exec(text)?.[1]?.length ?? 0;
    text = text.replace(/\r\n?/g, "\n"); // as the lexer does: the lengths of its blocks are places in the text
    if (sources !== this.#given) {
      this.#given = sources;
      this.#names = new Set(sources.map((source) => source.id));
      this.#forget();
    }
    text = withMarks(text, sources);
    if (!text.startsWith(this.#text)) this.#forget();
    if (text === this.#text && isWhole === this.#isWhole) return this.#blocks;
    // What comes later may change the meaning of what came before (a link's definition): once, at the end, read it all.
    // Nor is a list over after an empty line, and what follows it may become its next item: the last two stay open.
    const kept = isWhole ? 0 : Math.max(0, this.#blocks.length - 2);
    const start = this.#blocks.slice(0, kept).reduce((length, block) => length + block.raw.length, 0);
    const old = this.#blocks;
    this.#blocks = old.slice(0, kept);
    const tail = isWhole ? text.slice(start) : withoutHalf(text.slice(start));
    if (isWhole) this.cited = [];
    for (const token of this.#marked.lexer(tail)) {
      const last = this.#blocks.at(-1);
      if (last && token.type === "space") {
        last.raw += token.raw;
        continue;
      }
      const same = old[this.#blocks.length];
      // Only the outermost element finds its direction: it would not look into elements that have their own.
      const unsafe = this.#marked.parser([token]).replace(/^<(\w+)(?![^>]* dir=)/, '<$1 dir="auto"');
      const block = same?.unsafe === unsafe ? same : { raw: "", unsafe };
      block.raw = token.raw;
      this.#blocks.push(block);
    }
    this.#text = text.slice(0, start + tail.length);
    this.#isWhole = isWhole;
    return this.#blocks;
  }

  #forget() {
    this.#blocks = [];
    this.#text = "";
    this.cited = [];
  }

  /** @param {string} cited */
  #chip(cited) {
    const [id = "", passage = "", at = ""] = cited.split(MARK);
    const key = `${id}${MARK}${passage}`;
    if (!this.cited.includes(key)) this.cited.push(key);
    const number = this.cited.indexOf(key) + 1;
    const name = isWorkbench ? id : shownName(id);
    return `<button type="button" class="cite" data-cite="${escaped(id)}" data-citation="${escaped(at)}" title="${escaped(name)}" aria-label="${escaped(t("answer.source", { number, name }))}">${number}</button>`;
  }

  #newMarked() {
    const marked = new Marked({ gfm: true });
    const renderer = this;
    marked.use({
      extensions: [
        {
          name: "citation",
          level: "inline",
          start: (text) => {
            const index = text.search(/\s*\[/);
            return index < 0 ? undefined : index;
          },
          tokenizer(text) {
            const names = [];
            let raw = "";
            for (let found; (found = AT_START.exec(text.slice(raw.length))) && renderer.#names.has(nameOf(found[1])); ) {
              names.push(found[1] ?? "");
              raw += found[0];
            }
            if (raw) return { type: "citation", raw, names };
            const [whole = "", name = ""] = AT_START.exec(text) ?? [];
            return renderer.#marksUnknown && LOOKS_LIKE_A_SOURCE.test(name) ? { type: "citation", raw: whole, names, name } : undefined;
          },
          renderer: ({ raw, names, name }) => {
            const hasSpace = /^\s/.test(raw);
            if (!names.length) return `${hasSpace ? " " : ""}${unverified(name)}`;
            // Numbers stay with the word before them: alone on a line they would belong to nothing.
            return `<span class="cites">${hasSpace ? "\u00a0" : "\u2060"}${names.map((/** @type {string} */ one) => renderer.#chip(one)).join("")}</span>`;
          },
        },
        ...mathsIn(escaped),
      ],
      hooks: { emStrongMask: (text) => text.replace(FORMULAS, (found) => "a".repeat(found.length)) },
      renderer: {
        html: ({ text }) => (/^<br\s*\/?>$/i.test(text.trim()) ? "<br>" : escaped(text)),
        codespan: ({ text }) => `<code dir="ltr">${escaped(text)}</code>`,
        checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
        heading({ depth, tokens }) {
          const level = Math.min(3 + Math.max(depth - renderer.#depth, 0), 6); // below the question, which is the second
          return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
        },
        image: ({ href, text }) => linked(href, escaped(text || href)),
        link({ href, tokens }) {
          return linked(href, this.parser.parseInline(tokens));
        },
        code: ({ text, lang }) => {
          const language = /^[\w+#.-]{1,30}/.exec(lang ?? "")?.[0] ?? "";
          return (
            `<div class="code" dir="ltr"><div class="code-head"><span>${escaped(language || t("answer.text"))}</span>` +
            `<button type="button" class="plain copy-code">${escaped(t("copy.copy"))}</button></div>` +
            `<pre tabindex="0"><code class="language-${escaped(language)}">${escaped(text)}\n</code></pre></div>`
          );
        },
        table(token) {
          const cells = (/** @type {import("../vendor/marked.js").Tokens.TableCell[]} */ row) =>
            row.map((cell) => this.tablecell(cell)).join("");
          const body = token.rows.map((row) => this.tablerow({ text: cells(row) })).join("");
          return `<div class="scroll-x" tabindex="0" role="group" aria-label="${escaped(t("answer.table"))}"><table><thead>${this.tablerow({ text: cells(token.header) })}</thead><tbody>${body}</tbody></table></div>`;
        },
      },
    });
    return marked;
  }
}

/** Let the citations of a text say which passage they mean, and which of them they are.
 * @param {string} text @param {Source[]} sources */
function withMarks(text, sources) {
  let marked = "";
  let at = 0;
  citationsIn(text, sources).forEach(({ end, passage }, index) => {
    marked += `${text.slice(at, end - 1)}${MARK}${passage}${MARK}${index}`;
    at = end - 1;
  });
  return marked + text.slice(at);
}

/** @param {string} [cited] */
const nameOf = (cited = "") => cited.split(MARK)[0] ?? "";

/** @param {string} name */
const unverified = (name) =>
  `<span class="unverified" title="${escaped(t("answer.noSource"))}">[${escaped(name)}] <span class="doubt">${escaped(t("answer.unverified"))}</span></span>`;

/** @param {string} href @param {string} html */
function linked(href, html) {
  return SAFE_LINK.test(href) ? `<a href="${escaped(href)}" target="_blank">${html}</a>` : html;
}

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") node.setAttribute("rel", "noopener noreferrer nofollow");
});
