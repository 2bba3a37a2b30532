/** The text of an answer: its Markdown, with chips that open sources and code that can be copied. */
import { copyFrom } from "../copy.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef } from "../html.js";
import { showTab } from "../shell.js";
import { withAttached } from "../sources/attached.js";
import { citationsIn } from "../sources/cited.js";
import { openSource, selectedId } from "../state.js";
import { AnswerRenderer, purified } from "./markdown.js";
import { typeset } from "./maths.js";
import { decorate, isDecorated, morph } from "./morph.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").Source} Source */
/** @typedef {import("../types.js").Signal<string>} Text */

/**
 * @param {{ turn: Turn, text: Text, sources: Source[], isWhole: boolean, openCopied?: (name: string) => void }} props
 *   `openCopied`: opens a source of a copy, which does not know all that could be cited.
 */
export function View({ turn, text, sources, isWhole, openCopied }) {
  const renderer = useMemo(() => new AnswerRenderer(!openCopied), [turn]);
  const citable = useMemo(() => withAttached(sources, turn), [turn, sources]);
  const blocks = renderer.render(text.value, citable, isWhole);
  /** @param {MouseEvent} event */
  const act = (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (button?.dataset.cite) {
      const citation = citationsIn(text.value, citable)[Number(button.dataset.citation)];
      if (!citation) return;
      if (openCopied) return openCopied(citation.source.id);
      selectedId.value = turn.id;
      openSource.value = { turn, source: citation.source, sentence: citation.sentence };
      showTab("sources");
    } else if (button?.classList.contains("copy-code")) {
      copyFrom(button.closest(".code")?.querySelector("code")?.textContent ?? "", button);
    }
  };
  return html`<div class="answer" onClick=${act}>
    ${blocks.map((block, index) => html`<${BlockView} key=${index} block=${block} isWhole=${isWhole || index < blocks.length - 1} />`)}
  </div>`;
}

/** @param {{ block: import("./markdown.js").Block, isWhole: boolean }} props */
function BlockView({ block, isWhole }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (!element.current) return;
    morph(element.current, purified(block.unsafe));
    typeset(element.current);
  }, [block]);
  useEffect(() => {
    if (!isWhole) return;
    for (const code of element.current?.querySelectorAll("pre > code") ?? []) highlight(/** @type {HTMLElement} */ (code));
  }, [block, isWhole]);
  return html`<div ref=${element} class="block"></div>`;
}

/** Colour code; the library is loaded with the first one.
 * @param {HTMLElement} code */
async function highlight(code) {
  const language = code.className.replace("language-", "");
  const { default: library } = await import("../vendor/highlight.js");
  if (!library.getLanguage(language) || !code.isConnected || isDecorated(code)) return;
  const { value } = library.highlight(code.textContent ?? "", { language, ignoreIllegals: true });
  decorate(code, "hljs", purified(value));
}
