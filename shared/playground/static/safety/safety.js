/** The tab 'Safety': what the guard has let out, what it holds back and since when, and what was found. */
import { request } from "../api/http.js";
import { html, useEffect, useSignal } from "../html.js";
import { health, selected } from "../state.js";
import { duration } from "../sources/duration.js";
import { thoughtsOf } from "../sources/why.js";
import { rich, t } from "../texts.js";

/**
 * @typedef {{
 *   mode: "annotate" | "enforce", question: "waiting" | "cleared" | "refused" | "unchecked", answer_refused: boolean,
 *   held: number, held_milliseconds: number, released: number, sources_withheld: number, messages_withheld: number,
 *   prompt_filter_results: any, content_filter_results: any, at: number,
 * }} GuardState
 */

const FRAME_MS = 100;
const QUESTION = {
  waiting: t("safety.waiting"),
  cleared: t("safety.cleared"),
  refused: t("safety.refused"),
  unchecked: t("safety.unchecked"),
};

export function View() {
  const turn = selected.value;
  const states = turn ? statesOf(turn) : [];
  const last = states.at(-1);
  const told = turn ? thoughtsOf(turn).filter((thought) => thought.title === "Safety") : [];
  if (!turn || (!last && !told.length)) return html`<${Mode} asked=${Boolean(turn)} />`;
  return html`
    ${last && html`<${Held} turn=${turn} state=${last} />`}
    ${last && html`<${Withheld} turn=${turn} state=${last} />`}
    ${last && html`<${Findings} title=${t("safety.inQuestion")} results=${last.prompt_filter_results} />`}
    ${last && html`<${Findings} title=${t("safety.inAnswer")} results=${last.content_filter_results} />`}
    ${told.length > 0 && html`<h2 class="kind">${t("safety.says")}</h2>${told.map((thought) => html`<p class="card">${String(thought.description)}</p>`)}`}
    <p class="quiet small">${t("safety.neverHere")}</p>
  `;
}

/** @param {import("../types.js").Turn} turn @returns {GuardState[]} */
const statesOf = (turn) => /** @type {any[]} */ (turn.progress.value.filter((news) => news.kind === "guard"));

/** @param {{ asked: boolean }} props */
function Mode({ asked }) {
  useEffect(() => {
    if (!health.value) {
      request("/health").then(async (response) => (health.value = await response.json())).catch(() => {}); // the settings page tells why
    }
  }, []);
  const part = health.value?.parts?.safety;
  if (!part) return html`<p class="empty">${asked ? t("safety.none") : t("safety.ask")}</p>`;
  if (part.kind !== "off") {
    return html`<p class="empty">${t(asked ? "safety.onAsked" : "safety.on", { mode: part.mode })}</p>`;
  }
  return html`
    <div class="empty">
      <p>${t("safety.off")}</p>
      <p>${rich("safety.turnOn")}</p>
    </div>
  `;
}

/** @param {{ turn: import("../types.js").Turn, state: GuardState }} props */
function Held({ turn, state }) {
  const isWorking = turn.status.value === "asking" || turn.status.value === "streaming";
  const now = useSignal(state.at);
  useEffect(() => {
    const exchange = turn.exchange.value;
    if (!isWorking || !exchange || !state.held) return;
    const timer = setInterval(() => (now.value = performance.now() - exchange.startedAt), FRAME_MS);
    return () => clearInterval(timer);
  }, [turn, state, isWorking]);
  const since = state.held_milliseconds + Math.max(isWorking ? now.value - state.at : 0, 0);
  const all = Math.max(state.released + state.held, 1);
  const how = !state.held ? "safety.held" : isWorking ? "safety.heldSince" : "safety.heldForEver";
  const held = t(how, { n: state.held, time: duration(since) });
  const released = t("safety.released", { n: state.released });
  return html`
    <section class="guard" aria-label=${t("safety.heldLabel")}>
      <p class=${state.question === "refused" ? "bad" : state.question === "cleared" ? "good" : "warn"} role="status">${QUESTION[state.question]}</p>
      <svg class="bar tall" viewBox=${`0 0 ${all} 14`} preserveAspectRatio="none" role="img" aria-label=${`${released}, ${held}`}>
        <rect class="track" width=${all} height="14" />
        <rect class="part released" width=${state.released} height="14" />
        <rect class="part held" x=${state.released} width=${state.held} height="14" />
      </svg>
      <p class="legend small">
        <span><span class="swatch released" aria-hidden="true"></span>${released}</span>
        <span><span class="swatch held" aria-hidden="true"></span>${held}</span>
      </p>
      <p class="quiet small">${t(state.mode === "enforce" ? "safety.enforces" : "safety.annotates", { mode: state.mode })}</p>
    </section>
  `;
}

/** @param {{ turn: import("../types.js").Turn, state: GuardState }} props */
function Withheld({ turn, state }) {
  const withheld = [];
  const why = forbidden(state.content_filter_results) || t("safety.forbidden");
  const acts = state.mode === "enforce";
  if (state.question === "refused") {
    const found = forbidden(state.prompt_filter_results) || t("safety.forbidden");
    withheld.push(t(acts ? "safety.noAnswer" : "safety.nothingQuestion", { found }));
  }
  if (state.answer_refused && acts) withheld.push(t("safety.rest", { found: why }));
  if (state.answer_refused && !acts) withheld.push(t("safety.nothingAnswer", { found: why }));
  if (state.sources_withheld) withheld.push(t("safety.sources", { n: state.sources_withheld, found: why }));
  if (state.messages_withheld) withheld.push(t("safety.messages", { n: state.messages_withheld, found: why }));
  const stopped = turn.error.value;
  if (!withheld.length && !(stopped && acts && state.held)) return null;
  return html`
    <section class="notice bad" aria-label=${t("safety.withheld")}>
      <strong>${t("safety.withheld")}</strong>
      <ul>${withheld.map((one) => html`<li>${one}</li>`)}</ul>
      ${stopped && html`<p>${stopped.message}</p>`}
    </section>
  `;
}

/** The categories for which something is forbidden, or found badly. @param {any} results */
function forbidden(results) {
  const names = rowsOf(results).filter((row) => row.filtered || row.severity === "high" || row.severity === "medium" || row.detected);
  return names.map((row) => row.category).join(", ");
}

/** @param {any} results @returns {{ category: string, severity: string, detected: boolean, filtered: boolean }[]} */
function rowsOf(results) {
  return Object.entries(results ?? {}).map(([category, found]) => ({
    category: category.replaceAll("_", " "),
    severity: String(found?.severity ?? ""),
    detected: found?.detected === true,
    filtered: found?.filtered === true,
  }));
}

/** @param {{ title: string, results: any }} props */
function Findings({ title, results }) {
  const rows = rowsOf(results);
  if (!rows.length) return null;
  return html`
    <h2 class="kind">${title}</h2>
    <table class="findings">
      <thead><tr><th>${t("safety.category")}</th><th>${t("safety.severity")}</th><th>${t("safety.withheld")}</th></tr></thead>
      <tbody>
        ${rows.map(
          (row) => html`<tr>
            <td>${row.category}</td>
            <td><span class=${`severity ${row.severity}`}>${row.severity || (t(row.detected ? "safety.detected" : "safety.notDetected"))}</span></td>
            <td>${t(row.filtered ? "yes" : "no")}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  `;
}
