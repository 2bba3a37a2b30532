/** The tab 'Safety': what the check of an answer says and has found, once the answer has ended. */
import { request } from "../api/http.js";
import { isRunning } from "../chat/asking.js";
import { html, useEffect } from "../html.js";
import { health, selected } from "../state.js";
import { thoughtsOf } from "../sources/why.js";
import { rich, t } from "../texts.js";

/** Where a thought has findings, and what is written above them. */
const FINDINGS = {
  prompt_filter_results: t("safety.inQuestion"),
  content_filter_results: t("safety.inAnswer"),
  filter_results: "", // of what is refused: the sentence says whether it is the question
};

export function View() {
  const turn = selected.value;
  const told = turn ? thoughtsOf(turn).filter((thought) => thought.title === "Safety") : [];
  if (!told.length) return html`<${Mode} turn=${turn} />`;
  const mode = told.map((thought) => thought.props?.mode).find(Boolean);
  return html`
    ${told.map((thought) => html`<${Said} thought=${thought} />`)}
    ${mode && html`<p class="quiet small">${t(mode === "enforce" ? "safety.enforces" : "safety.annotates", { mode: String(mode) })}</p>`}
  `;
}

/** @param {{ thought: import("../types.js").Thought }} props */
function Said({ thought: { description, props } }) {
  return html`
    <p class="card">${String(description)}</p>
    ${Object.entries(FINDINGS).map(([key, title]) => html`<${Findings} title=${title} results=${props?.[key]} />`)}
  `;
}

/** @param {{ turn: import("../types.js").Turn | null }} props */
function Mode({ turn }) {
  useEffect(() => {
    if (!health.value) {
      request("/health").then(async (response) => (health.value = await response.json())).catch(() => {}); // the settings page tells why
    }
  }, []);
  const part = health.value?.parts?.safety;
  if (part?.kind === "off") return html`<p class="empty">${rich("safety.off")}</p>`;
  const isWorking = turn && isRunning(turn);
  return html`<p class="empty">${part && isWorking ? t("safety.atEnd", { mode: part.mode }) : t(turn ? "behind.none" : "behind.ask")}</p>`;
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
    ${title && html`<h3 class="kind">${title}</h3>`}
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
