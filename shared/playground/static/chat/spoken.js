/** Tells screen readers the newest answer sentence by sentence: a live region that changed with each token would stammer. */
import { html, useRef, useSignalEffect, useSignal } from "../html.js";
import { numbered } from "../sources/why.js";
import { turns } from "../state.js";
import { t } from "../texts.js";
import { isRunning } from "./asking.js";
import { isEmpty } from "./turn.js";

const SENTENCE_END = /[.!?…:؟](?=\s)|[。！？\n]/g;
/** How long sentences stay, in milliseconds: who reads the page line by line is not to meet them a second time. */
const KEPT_MS = 10_000;
/** What comes within this time is told together: a screen reader does not keep the order of what is added at once. */
const TOGETHER_MS = 150;

export function View() {
  const said = useSignal(/** @type {string[]} */ ([]));
  const place = useRef({ id: "", length: 0, isOver: true });
  const waiting = useRef(/** @type {string[]} */ ([]));
  const tell = () => (said.value = [...said.peek(), waiting.current.splice(0).join(" ")]);
  useSignalEffect(() => {
    const turn = turns.value.at(-1);
    if (!turn) return;
    const isOver = !isRunning(turn);
    const text = turn.agents.value.length ? turn.agents.value.map((agent) => `${agent.name}: ${agent.text.value}`).join("\n") : turn.text.value;
    const at = place.current;
    if (at.id !== turn.id || text.length < at.length) {
      // An answer that was there before is read, not announced; the first may have come before this was loaded.
      const isOld = isOver && (at.id !== "" || !turn.exchange.value);
      Object.assign(at, { id: turn.id, length: isOld ? text.length : 0, isOver: isOld });
    }
    const fresh = text.slice(at.length);
    const end = isOver ? fresh.length : Math.max(0, ...[...fresh.matchAll(SENTENCE_END)].map((found) => found.index + 1));
    at.length += end;
    const lines = numbered(fresh.slice(0, end), turn, (number) => `, ${t("spoken.source", { number })},`).split("\n").map(plain);
    if (isOver && !at.isOver) {
      lines.push(turn.status.value === "stopped" ? t("turn.stopped") : isEmpty(turn) ? t("turn.empty") : "");
      setTimeout(() => (said.value = []), KEPT_MS);
    }
    at.isOver = isOver;
    const news = lines.filter(Boolean);
    if (news.length && !waiting.current.length) setTimeout(tell, TOGETHER_MS);
    waiting.current.push(...news);
  });
  return html`<div class="visually-hidden" aria-live="polite" data-spoken>${said.value.map((sentence, index) => html`<p key=${index}>${sentence}</p>`)}</div>`;
}

/** @param {string} markdown a line */
const plain = (markdown) =>
  markdown
    .replace(/^[\s|:-]*$|^\s*[-+]\s/, "")
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/[*_`#>|]+/g, " ")
    .replace(/\s*,(?:[,\s]+|(?=[.!?…:؟。！？]|$))/g, ", ")
    .replace(/, (?=[.!?…:؟。！？]|$)/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[\p{L}\p{N}%)]$/u, "$&.");
