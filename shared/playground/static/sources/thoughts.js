/** The tab 'Thoughts': the steps of an answer, and all that is known of it. */
import { CopyButton } from "../copy.js";
import { html } from "../html.js";
import { selected } from "../state.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Thought} Thought */

/** What the app calls the steps that most answers have; others keep the name that the app gives them. @type {Record<string, string>} */
const TITLES = {
  "Original user query": t("thoughts.asked"),
  "Generated search query": t("thoughts.query"),
  Results: t("thoughts.results"),
  Reasoning: t("turn.reasoning"),
  Safety: t("safety.title"),
  "Attached files": t("composer.attached"),
  "Unverified citations": t("thoughts.unverified"),
};

export function View() {
  const turn = selected.value;
  if (!turn) return html`<p class="empty">${t("behind.ask")}</p>`;
  const groups = [
    { name: "", thoughts: turn.thoughts.value },
    ...turn.agents.value.map((agent) => ({ name: agent.name, thoughts: agent.thoughts.value })),
  ].filter((group) => group.thoughts.length);
  if (!groups.length) return html`<p class="empty">${t("behind.none")}</p>`;
  return html`
    ${groups.map(
      ({ name, thoughts }) => html`
        ${name && html`<h2 class="kind">${name}</h2>`}
        <ol class="thoughts">
          ${thoughts.map((thought) => html`<${Card} thought=${thought} />`)}
        </ol>
      `,
    )}
  `;
}

/** @param {{ thought: Thought }} props */
function Card({ thought }) {
  const title = TITLES[thought.title] ?? thought.title;
  const props = Object.entries(thought.props ?? {});
  return html`
    <li class="card thought">
      <header>
        <h3>${title}</h3>
        <${CopyButton} text=${() => JSON.stringify(thought, null, 2)} label=${t("thoughts.copyOne", { title })}>${t("thoughts.copy")}<//>
      </header>
      <${Description} thought=${thought} />
      ${props.length > 0 &&
      html`<dl class="props">${props.map(([name, value]) => html`<dt>${name}</dt><dd>${typeof value === "object" ? html`<${Json} value=${value} />` : String(value)}</dd>`)}</dl>`}
    </li>
  `;
}

/** @param {{ thought: Thought }} props */
function Description({ thought }) {
  const { title, description } = thought;
  if (typeof description === "string") return html`<p class="said">${description}</p>`;
  if (Array.isArray(description) && description.every((one) => typeof one === "string")) {
    return html`<ul>${description.map((one) => html`<li>${one}</li>`)}</ul>`;
  }
  if (title === "Results" && Array.isArray(description)) return html`<${Results} results=${description} />`;
  if (title === "Prompt" && Array.isArray(description)) return html`<${Prompt} messages=${description} />`;
  return html`<${Json} value=${description} />`;
}

/** @param {{ results: any[] }} props */
function Results({ results }) {
  if (!results.length) return html`<p class="quiet">${t("thoughts.nothing")}</p>`;
  const reranked = results.some((one) => typeof one?.reranker_score === "number");
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${t("thoughts.results")}>
      <table>
        <thead><tr><th>#</th><th>${t("thoughts.source")}</th><th>${t("thoughts.score")}</th>${reranked && html`<th>${t("thoughts.ranker")}</th>`}</tr></thead>
        <tbody>
          ${results.map(
            (one, index) => html`<tr><td>${index + 1}</td><td>${String(one?.sourcepage ?? "")}</td><td>${score(one?.score)}</td>${reranked && html`<td>${score(one?.reranker_score)}</td>`}</tr>`,
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** @param {unknown} value */
const score = (value) => (typeof value === "number" ? value.toPrecision(4) : "–");

/** @param {{ messages: any[] }} props */
function Prompt({ messages }) {
  return html`${messages.map(
    (message) => html`
      <details class="message">
        <summary><span class="role">${String(message?.role ?? "")}</span> <span class="quiet">${beginning(message?.content)}</span></summary>
        <pre tabindex="0">${textOf(message?.content)}</pre>
      </details>
    `,
  )}`;
}

/** @param {unknown} content */
const textOf = (content) => (typeof content === "string" ? content : JSON.stringify(content, null, 2));

/** @param {unknown} content */
const beginning = (content) => textOf(content)?.replace(/\s+/gu, " ").slice(0, 80) ?? "";

/** @param {{ value: unknown }} props */
function Json({ value }) {
  return html`<pre class="json" dir="ltr" tabindex="0">${JSON.stringify(value, null, 2)}</pre>`;
}
