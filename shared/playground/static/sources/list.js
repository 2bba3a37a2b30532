/** The tab 'Sources': what an answer cites, what was found besides, and what it cites that was not found. */
import { html } from "../html.js";
import { openSource, selected } from "../state.js";
import { placeOf } from "./documents.js";
import { Reason, Viewer } from "./viewer.js";
import { reasonsOf, unverifiedIn } from "./why.js";

/** @typedef {import("./why.js").Why} Why */

export function View() {
  const turn = selected.value;
  if (!turn) return null;
  const reasons = reasonsOf(turn);
  const open = openSource.value?.turn === turn ? openSource.value.source : null;
  const opened = open && reasons.find((why) => why.source.id === open.id);
  if (opened) return html`<${Viewer} key=${opened.source.id} why=${opened} />`;
  const unverified = unverifiedIn(turn);
  if (!reasons.length && !unverified.length) {
    const isWorking = turn.status.value === "asking";
    return html`<p class="empty">${isWorking ? "Searching…" : "Nothing was found for this question."}</p>`;
  }
  const cited = reasons.filter((why) => why.number);
  const others = reasons.filter((why) => !why.number);
  return html`
    ${unverified.length > 0 &&
    html`<section class="notice warn" role="note">
      <strong>Not verified.</strong> The answer cites what was not found:
      <ul>${unverified.map((name) => html`<li><code>${name}</code></li>`)}</ul>
    </section>`}
    ${cited.length > 0 && html`<h2 class="kind">Cited</h2><ol class="sources">${cited.map((why) => html`<${Card} why=${why} />`)}</ol>`}
    ${others.length > 0 &&
    html`<h2 class="kind">${cited.length ? "Found, but not cited" : "Found"}</h2>
      <ol class="sources">${others.map((why) => html`<${Card} why=${why} />`)}</ol>`}
  `;
}

/** @param {{ why: Why }} props */
function Card({ why }) {
  const { source, number } = why;
  const { name, page } = placeOf(source.id);
  const turn = selected.value;
  return html`
    <li class="card source">
      <button class="plain open" onClick=${() => turn && (openSource.value = { source, turn })}>
        ${number ? html`<span class="number">${number}</span>` : null}
        <span class="file">${name}</span>${page ? html`<span class="quiet"> page ${page}</span>` : null}
      </button>
      <p class="excerpt">${plain(source.text)}</p>
      <details class="why"><summary>Why this source</summary><${Reason} why=${why} /></details>
    </li>
  `;
}

/** The beginning of a passage without the signs of Markdown. @param {string} text */
const plain = (text) => text.slice(0, 600).replace(/(?:^|\s)(?:#{1,6}|[|:-]{3,})(?=\s|$)|\s\|(?=\s|$)|^\|/gu, " ");
