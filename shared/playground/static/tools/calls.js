/** The calls of tools that the app makes for an answer, and the question for consent to those that wait. */
import { html, useEffect } from "../html.js";
import { duration } from "../sources/duration.js";
import { t } from "../texts.js";
import { outcomeOf, readApproval } from "./approvals.js";
import { ConsentCard } from "./consent.js";
import { Values } from "./values.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").ToolCall} ToolCall */

/** How often the page looks whether somebody else has decided. */
const LOOK_MS = 15_000;

/** @param {{ calls: ToolCall[] }} props */
export function View({ calls }) {
  return html`<ul class="tool-calls" aria-label=${t("tools.calls")}>${calls.map((call) => html`<li key=${call.id}><${CallView} call=${call} /></li>`)}</ul>`;
}

/** @param {{ call: ToolCall }} props */
function CallView({ call }) {
  return html`<details class=${`tool-call ${call.state}`}>
    <summary>
      <strong>${call.title}</strong>
      <span class="became">${outcomeOf(call.state)}</span>
      ${call.milliseconds > 0 && html`<span class="quiet">${duration(call.milliseconds)}</span>`}
    </summary>
    <${Values} json=${call.arguments} />
    ${call.result && html`<p class="quiet">${t("tools.result")}</p><${Values} json=${call.result} isResult />`}
  </details>`;
}

/**
 * What a turn waits for.
 * @param {{ turn: Turn, decided: () => void }} props `decided` is called when nothing is open any more.
 */
export function Consents({ turn, decided }) {
  const asked = turn.calls.value.filter((call) => call.consent);
  /** @param {import("./approvals.js").Approval} found */
  const take = ({ id, state }) => {
    if (state === "open" || turn.status.value !== "waiting") return;
    turn.calls.value = turn.calls.value.map((call) => (call.consent?.id === id ? { ...call, state } : call));
    if (!turn.calls.value.some((call) => call.consent && call.state === "open")) decided();
  };
  useEffect(() => {
    // It may have been decided before a reload, and can be in another window, by an approver, or by the clock.
    const look = async () => {
      const open = turn.calls.value.filter((call) => call.consent && call.state === "open");
      if (!document.hidden) for (const { consent } of open) await readApproval(consent?.id ?? "").then(take, () => {});
    };
    look();
    const clock = setInterval(look, LOOK_MS);
    addEventListener("focus", look);
    return () => {
      clearInterval(clock);
      removeEventListener("focus", look);
    };
  }, []);
  return asked.map(
    (call, index) => html`<${ConsentCard} key=${call.id} asked=${{ ...call.consent, arguments: call.arguments, state: call.state }} decided=${take} isInChat takesFocus=${index === 0} />`,
  );
}
