/** Tells screen readers the newest answer sentence by sentence: a live region that changed with each token would stammer. */
import { html, useRef, useSignalEffect, useSignal } from "../html.js";
import { numbered } from "../sources/why.js";
import { turns } from "../state.js";
import { t } from "../texts.js";

const SENTENCE_END = /[.!?…:؟](?=\s)|[。！？\n]/g;

export function View() {
  const said = useSignal("");
  const place = useRef({ id: "", length: 0 });
  useSignalEffect(() => {
    const turn = turns.value.at(-1);
    if (!turn) return;
    const status = turn.status.value;
    const text = turn.agents.value.length ? turn.agents.value.map((agent) => `${agent.name}: ${agent.text.value}`).join("\n") : turn.text.value;
    const at = place.current;
    if (at.id !== turn.id || text.length < at.length) {
      // An answer that was there before is read, not announced.
      place.current = { id: turn.id, length: status === "asking" || status === "streaming" ? 0 : text.length };
      return;
    }
    const isOver = status !== "asking" && status !== "streaming";
    const fresh = text.slice(at.length);
    const end = isOver ? fresh.length : Math.max(-1, ...[...fresh.matchAll(SENTENCE_END)].map((found) => found.index + 1));
    if (end > 0) {
      at.length += end;
      said.value = plain(numbered(fresh.slice(0, end), turn, (number) => `, ${t("spoken.source", { number })},`));
    }
  });
  return html`<div class="visually-hidden" aria-live="polite" aria-atomic="true" data-spoken>${said}</div>`;
}

/** @param {string} markdown */
const plain = (markdown) =>
  markdown
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/[*_`#>|]+/g, " ")
    .replace(/\s*,(?:[,\s]+|(?=[.!?…:؟。！？]|$))/g, ", ")
    .replace(/, (?=[.!?…:؟。！？]|$)/g, "")
    .replace(/\s+/g, " ")
    .trim();
