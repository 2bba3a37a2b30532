/** The question for consent: what shall be done, in words and values that anybody can read, with yes and no. */
import { ApiError } from "../api/http.js";
import { ErrorText } from "../error_text.js";
import { html, useEffect, useRef, useSignal } from "../html.js";
import { locale, rich, t } from "../texts.js";
import { decide, outcomeOf, readApproval } from "./approvals.js";
import { Values, purposeOf } from "./values.js";

/** @typedef {import("./approvals.js").Approval} Approval */

/** @param {{ asked: Approval, decided: (found: Approval) => void, isInChat?: boolean, takesFocus?: boolean }} props */
export function ConsentCard({ asked, decided, isInChat = false, takesFocus = false }) {
  const card = useRef(/** @type {HTMLElement | null} */ (null));
  const reason = useSignal("");
  const isSending = useSignal(false);
  const problem = useSignal("");
  const isTold = useSignal(false);
  useEffect(() => {
    // Not a button gets the focus: the Enter of somebody who was about to write must not decide.
    const writes = document.activeElement?.matches("input, select, textarea:not(:placeholder-shown)");
    if (takesFocus && !writes) card.current?.focus();
    else isTold.value = isInChat;
  }, []);
  /** @param {boolean} approved */
  const answer = async (approved) => {
    isSending.value = true;
    problem.value = "";
    const end = (/** @type {Approval} */ found) => {
      (isInChat ? document.getElementById("question") : card.current)?.focus(); // the buttons are gone
      decided(found);
    };
    try {
      end(await decide(asked.id, approved, reason.value.trim()));
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
      if (error instanceof ApiError && error.status === 409) await readApproval(asked.id).then(end, () => {});
    } finally {
      isSending.value = false;
    }
  };
  const title = t("tools.asks", { agent: asked.agent || t("tools.assistant") });
  const isOpen = asked.state === "open";
  return html`<div class=${`consent${isOpen ? "" : " decided"}`} ref=${card} tabindex="-1" role="group" aria-label=${title} aria-describedby=${`asked-${asked.id}`}>
    <h2>${title}</h2>
    ${isTold.value && html`<p class="visually-hidden" role="alert">${title}</p>`}
    <div id=${`asked-${asked.id}`}>
    ${asked.description && html`<p class="purpose" dir="auto">${purposeOf(asked.description)}</p>`}
    <${Values} json=${asked.arguments} />
    ${Object.entries(asked.origins ?? {}).map(([key, source]) => html`<p key=${key} class="small">⚠ ${t("tools.origin", { key, source: purposeOf(source) })}</p>`)}
    <p class="quiet small">${rich("tools.by", { tool: html`<code>${asked.server}.${asked.tool}</code>` })}${someone(asked.asker) && ` ${t("tools.askedBy", { who: someone(asked.asker) })}`}</p>
    </div>
    ${isOpen
      ? html`<form onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
          <p class="small">${t(isInChat ? "tools.waitsInChat" : "tools.waits", { until: until(asked.expires) })}</p>
          <label class="small">${t("tools.reason")} <input value=${reason.value} maxlength="1000" onInput=${(/** @type {any} */ event) => (reason.value = event.currentTarget.value)} /></label>
          <div class="yes-no">
            <button type="button" class="primary" disabled=${isSending.value} onClick=${() => answer(true)}>${t("tools.yes")}</button>
            <button type="button" disabled=${isSending.value} onClick=${() => answer(false)}>${t("tools.no")}</button>
          </div>
        </form>`
      : html`<p class="outcome" role="status">${outcomeOf(asked.state)}${someone(asked.decided_by) && ` ${t("tools.decidedBy", { who: someone(asked.decided_by) })}`}</p>`}
    ${asked.result && html`<details><summary>${t("tools.result")}</summary><${Values} json=${asked.result} isResult /></details>`}
    ${problem.value && html`<div class="bad" role="alert"><${ErrorText} text=${problem.value} /></div>`}
  </div>`;
}

/** Who it is, unless nobody signs in. @param {string | null | undefined} name */
const someone = (name) => (name && name !== "anonymous" ? name : "");

/** @param {string} expires */
function until(expires) {
  const time = new Date(expires);
  const isToday = time.toDateString() === new Date().toDateString();
  return time.toLocaleString(locale, isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}
