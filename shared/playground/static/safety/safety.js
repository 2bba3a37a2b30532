/** The tab 'Safety': what the guard has let out, what it holds back and since when, and what was found. */
import { request } from "../api/http.js";
import { html, useEffect, useSignal } from "../html.js";
import { health, selected } from "../state.js";
import { duration } from "../sources/duration.js";
import { thoughtsOf } from "../sources/why.js";

/**
 * @typedef {{
 *   mode: "annotate" | "enforce", question: "waiting" | "cleared" | "refused" | "unchecked", answer_refused: boolean,
 *   held: number, held_milliseconds: number, released: number, sources_withheld: number, messages_withheld: number,
 *   prompt_filter_results: any, content_filter_results: any, at: number,
 * }} GuardState
 */

const FRAME_MS = 100;
const QUESTION = {
  waiting: "The question is being checked. Nothing goes out before it is cleared.",
  cleared: "The question is cleared.",
  refused: "The policy forbids the question.",
  unchecked: "The question could not be checked.",
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
    ${last && html`<${Findings} title="In the question" results=${last.prompt_filter_results} />`}
    ${last && html`<${Findings} title="In the answer" results=${last.content_filter_results} />`}
    ${told.length > 0 && html`<h2 class="kind">What the check says</h2>${told.map((thought) => html`<p class="card">${String(thought.description)}</p>`)}`}
    <p class="quiet small">A text that is held never reaches this page: only how long it is.</p>
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
  if (!part) return html`<p class="empty">${asked ? "No check was told of this answer." : "Ask a question: what the safety check does is drawn here."}</p>`;
  if (part.kind !== "off") {
    return html`<p class="empty">Answers are checked (RAI_MODE is ${part.mode}). ${asked ? "No check was told of this one." : "Ask a question to watch the check."}</p>`;
  }
  return html`
    <div class="empty">
      <p>No safety service checks what is said here: RAI_MODE is off.</p>
      <p>Turn it on with <code>RAI_MODE=enforce make run</code>, which starts a stand-in of the service on this machine, or with RAI_ENDPOINT and RAI_MODE in the settings of the app.</p>
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
  const held = `${count(state.held)} held back${state.held ? `, ${isWorking ? `the first of them for ${duration(since)}` : "and never shown"}` : ""}`;
  return html`
    <section class="guard" aria-label="What is held back">
      <p class=${state.question === "refused" ? "bad" : state.question === "cleared" ? "good" : "warn"} role="status">${QUESTION[state.question]}</p>
      <svg class="bar tall" viewBox=${`0 0 ${all} 14`} preserveAspectRatio="none" role="img" aria-label=${`${count(state.released)} released, ${held}`}>
        <rect class="track" width=${all} height="14" />
        <rect class="part released" width=${state.released} height="14" />
        <rect class="part held" x=${state.released} width=${state.held} height="14" />
      </svg>
      <p class="legend small">
        <span><span class="swatch released" aria-hidden="true"></span>${count(state.released)} released</span>
        <span><span class="swatch held" aria-hidden="true"></span>${held}</span>
      </p>
      <p class="quiet small">RAI_MODE is ${state.mode}: ${state.mode === "enforce" ? "only what is cleared goes out." : "everything goes out, and what is found is told."}</p>
    </section>
  `;
}

/** @param {{ turn: import("../types.js").Turn, state: GuardState }} props */
function Withheld({ turn, state }) {
  const withheld = [];
  const why = forbidden(state.content_filter_results) || "what the policy forbids";
  const acts = state.mode === "enforce";
  if (state.question === "refused") {
    const found = forbidden(state.prompt_filter_results) || "what the policy forbids";
    withheld.push(acts ? `The answer, since the question has ${found}.` : `Nothing, though the question has ${found}.`);
  }
  if (state.answer_refused && acts) withheld.push(`The rest of the answer, since it has ${why}.`);
  if (state.answer_refused && !acts) withheld.push(`Nothing, though the answer has ${why}.`);
  if (state.sources_withheld) withheld.push(`${state.sources_withheld} ${state.sources_withheld === 1 ? "source" : "sources"}, with the steps that quote them, for ${why}.`);
  if (state.messages_withheld) withheld.push(`${state.messages_withheld} ${state.messages_withheld === 1 ? "message" : "messages"} of the team, for ${why}.`);
  const stopped = turn.error.value;
  if (!withheld.length && !(stopped && acts && state.held)) return null;
  return html`
    <section class="notice bad" aria-label="Withheld">
      <strong>Withheld</strong>
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
      <thead><tr><th>Category</th><th>Severity</th><th>Withheld</th></tr></thead>
      <tbody>
        ${rows.map(
          (row) => html`<tr>
            <td>${row.category}</td>
            <td><span class=${`severity ${row.severity}`}>${row.severity || (row.detected ? "detected" : "not detected")}</span></td>
            <td>${row.filtered ? "yes" : "no"}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  `;
}

/** @param {number} characters */
const count = (characters) => `${characters.toLocaleString("en")} ${characters === 1 ? "character" : "characters"}`;
