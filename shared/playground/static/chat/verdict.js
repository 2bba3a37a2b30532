/** What a reader says of an answer: good or bad, and of a bad one what is wrong and what was expected. */
import { request } from "../api/http.js";
import { isWorkbench } from "../about.js";
import { withoutDetails } from "../error_text.js";
import { Icon } from "../icon.js";
import { html, useLayoutEffect, useRef, useSignal } from "../html.js";
import { chatId } from "./asking.js";
import { keepAnswer } from "./kept.js";
import { rich, t } from "../texts.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").Verdict} Judged */

const LONGEST = 4000;

/** @param {{ turn: Turn }} props */
export function View({ turn }) {
  const isAsked = useSignal(false);
  const said = useSignal("");
  const problem = useSignal("");
  const down = useRef(/** @type {HTMLButtonElement | null} */ (null));
  if (!turn.answerId.value || !chatId.value) return null;
  const rating = turn.verdict.value?.rating;

  /** @param {Judged} verdict @returns {Promise<boolean>} whether the app has it. */
  const judge = async (verdict) => {
    const body = JSON.stringify({ answer_id: turn.answerId.value, ...verdict });
    try {
      await request("/feedback", { method: "POST", headers: { "content-type": "application/json" }, body });
    } catch (error) {
      problem.value = withoutDetails(error instanceof Error ? error.message : String(error));
      return false;
    }
    turn.verdict.value = verdict;
    problem.value = "";
    said.value = t("verdict.thanks");
    keepAnswer(chatId.peek(), turn);
    return true;
  };
  const close = () => {
    isAsked.value = false;
    down.current?.focus();
  };
  const good = async () => {
    if (await judge({ rating: "up" })) isAsked.value = false;
  };
  const bad = async () => {
    const { comment, expected } = turn.verdict.peek() ?? {};
    if (rating === "down" || (await judge({ rating: "down", comment, expected }))) isAsked.value = true;
  };
  return html`
    <span class="thumbs"><button class="plain thumb" aria-label=${t("verdict.good")} title=${t("verdict.good")} aria-pressed=${rating === "up"} onClick=${good}><${Icon} name="thumbs-up" /></button>
    <button ref=${down} class="plain thumb" aria-label=${t("verdict.bad")} title=${t("verdict.bad")} aria-pressed=${rating === "down"} aria-expanded=${isAsked.value} onClick=${bad}><${Icon} name="thumbs-down" /></button></span>
    <span class="quiet said" aria-live="polite">${!isAsked.value && said.value}</span>
    ${problem.value && html`<span class="bad" role="alert">${problem.value}</span>`}
    ${isAsked.value && html`<${Why} verdict=${turn.verdict.value} judge=${judge} close=${close} />`}
  `;
}

/** @param {{ verdict: Judged | null, judge: (verdict: Judged) => Promise<boolean>, close: () => void }} props */
function Why({ verdict, judge, close }) {
  const first = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const comment = useSignal(verdict?.comment ?? "");
  const expected = useSignal(verdict?.expected ?? "");
  useLayoutEffect(() => first.current?.focus(), []);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    if (await judge({ rating: "down", comment: comment.value, expected: expected.value })) close();
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation(); // it would stop the answer that is being written
    close();
  };
  /** @param {import("../types.js").Signal<string>} text */
  const into = (text) => (/** @type {InputEvent} */ event) => (text.value = /** @type {HTMLTextAreaElement} */ (event.target).value);
  return html`<form class="verdict" aria-label=${t("verdict.form")} onSubmit=${submit} onKeyDown=${onKey}>
    <label>${t("verdict.wrong")} <textarea ref=${first} dir="auto" rows="2" maxlength=${LONGEST} value=${comment.value} onInput=${into(comment)}></textarea></label>
    <label>${t("verdict.expected")} <textarea dir="auto" rows="2" maxlength=${LONGEST} value=${expected.value} onInput=${into(expected)}></textarea></label>
    ${isWorkbench && html`<p class="quiet">${rich("verdict.help")}</p>`}
    <div class="actions"><button type="button" onClick=${close}>${t("turn.cancel")}</button><button type="submit" class="primary">${t("verdict.send")}</button></div>
  </form>`;
}
