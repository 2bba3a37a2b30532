/** The text of an answer: its Markdown, with chips that open sources and code that can be copied. */
import { copyFrom } from "../copy.js";
import { html, useEffect, useMemo, useRef } from "../html.js";
import { showTab } from "../shell.js";
import { openSource, selectedId } from "../state.js";
import { AnswerRenderer, purified } from "./markdown.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").Source} Source */
/** @typedef {import("../types.js").Signal<string>} Text */

/**
 * @param {{ turn: Turn, text: Text, sources: Source[], isWhole: boolean }} props
 */
export function View({ turn, text, sources, isWhole }) {
  const renderer = useMemo(() => new AnswerRenderer(), [turn]);
  const blocks = renderer.render(text.value, sources, isWhole);
  /** @param {MouseEvent} event */
  const act = (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (button?.dataset.cite) {
      const source = sources.find((one) => one.id === button.dataset.cite);
      if (!source) return;
      selectedId.value = turn.id;
      openSource.value = { source, turn };
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
  useEffect(() => {
    const code = isWhole ? element.current?.querySelector("pre > code") : null;
    if (code instanceof HTMLElement) highlight(code);
  }, [block, isWhole]);
  return useMemo(
    () => html`<div ref=${element} class="block" dangerouslySetInnerHTML=${{ __html: block.html }}></div>`,
    [block],
  );
}

/** Colour code; the library is loaded with the first one.
 * @param {HTMLElement} code */
async function highlight(code) {
  const language = code.className.replace("language-", "");
  const { default: library } = await import("../vendor/highlight.js");
  if (!library.getLanguage(language) || !code.isConnected) return;
  const { value } = library.highlight(code.textContent ?? "", { language, ignoreIllegals: true });
  code.innerHTML = /** @type {any} */ (purified(value));
}
