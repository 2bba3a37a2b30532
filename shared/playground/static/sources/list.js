/** The tab 'Sources': what an answer cites, what was found besides, and what it cites that was not found. */
import { html, signal } from "../html.js";
import { openSource, selected } from "../state.js";
import { keyOf } from "./cited.js";
import { shownName } from "./names.js";
import { excerptOf } from "./excerpt.js";
import { Viewer, WhyThis } from "./viewer.js";
import { reasonsOf, thoughtsOf, unverifiedIn } from "./why.js";
import { t } from "../texts.js";

/** @typedef {import("./why.js").Why} Why */

/** Excerpts in a card: a passage that is cited for more has all of it behind "Why this source". */
const MOST_EXCERPTS = 3;

/** The turn whose sources that are not cited are unfolded: they are still so after a look at one of them. */
const unfolded = signal("");

export function View() {
  const turn = selected.value;
  if (!turn) return null;
  const reasons = reasonsOf(turn);
  const open = openSource.value?.turn === turn ? openSource.value.source : null;
  const opened = open && reasons.find((why) => keyOf(why.source) === keyOf(open));
  if (opened) return html`<${Viewer} key=${keyOf(opened.source)} why=${opened} />`;
  const unverified = unverifiedIn(turn);
  const isWorking = turn.status.value === "asking" || turn.status.value === "streaming";
  if (!reasons.length && !unverified.length) {
    const hasSearched = thoughtsOf(turn).some((thought) => thought.title === "Results");
    return html`<p class="empty">${isWorking ? t("sources.searching") : hasSearched ? t("sources.nothing") : t("sources.notSearched")}</p>`;
  }
  const cited = reasons.filter((why) => why.number);
  const others = reasons.filter((why) => !why.number);
  return html`
    ${unverified.length > 0 &&
    html`<section class="notice warn" role="note">
      <strong>${t("sources.notVerified")}</strong> ${t("sources.citesUnknown")}
      <ul>${unverified.map((name) => html`<li><code>${name}</code></li>`)}</ul>
    </section>`}
    ${cited.length > 0 && html`<h2 class="kind">${t("sources.cited")}</h2><${Cards} all=${cited} />`}
    ${!cited.length && !isWorking && html`<p class="quiet">${t("sources.citesNone")}</p>`}
    ${others.length > 0 && (isWorking && !cited.length
      ? html`<h2 class="kind">${t("sources.soFar")}</h2><${Cards} all=${others} />`
      : html`<details class="others" open=${unfolded.value === turn.id} onToggle=${(/** @type {any} */ event) => (unfolded.value = event.currentTarget.open ? turn.id : "")}>
          <summary>${cited.length ? t("sources.also") : t("sources.uncited")} <span class="count">${others.length}</span></summary>
          <${Cards} all=${others} />
        </details>`)}
  `;
}

/** @param {{ all: Why[] }} props */
function Cards({ all }) {
  return html`<ol class="sources">${all.map((why) => html`<${Card} key=${keyOf(why.source)} why=${why} />`)}</ol>`;
}

/** @param {{ why: Why }} props */
function Card({ why }) {
  const { source, number } = why;
  const turn = selected.value;
  const about = why.sentences.length ? why.sentences : [turn?.question ?? ""];
  const excerpts = new Map(about.map((sentence) => excerptOf(source.text, sentence)).map((one) => [one.closest, one]));
  return html`
    <li class="card source">
      <button class="plain open" onClick=${() => turn && (openSource.value = { source, turn })}>
        ${number ? html`<span class="number">${number}</span>` : null}
        <span class="file">${shownName(source.id)}</span>
      </button>
      ${!source.file && [...excerpts.values()].slice(0, MOST_EXCERPTS).map(({ before, closest, after }) => html`<p class="excerpt" dir="auto">
        ${before} ${closest && (number ? html`<strong>${closest}</strong>` : closest)} ${after}
      </p>`)}
      <${WhyThis} why=${why} />
    </li>
  `;
}
