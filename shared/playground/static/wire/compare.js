/** The page that sends one question in two protocols, and shows what comes back side by side. */
import { html, useMemo } from "../html.js";
import { askBoth, before, isTeam, question, sides } from "./comparing.js";
import { differences } from "./differences.js";
import { ExchangeView } from "./exchange.js";
import { alwaysStreams, KNOWN } from "./protocols.js";
import { t } from "../texts.js";

/** @typedef {import("./comparing.js").Side} Side */
/** @typedef {import("./differences.js").Piece} Piece */

export function View() {
  const [left, right] = sides;
  const [one, other] = [left.run.value, right.run.value];
  const areDone = Boolean(one?.isDone.value && other?.isDone.value);
  const [oneText, otherText] = [one?.text.value ?? "", other?.text.value ?? ""];
  const pieces = useMemo(
    () => (areDone ? differences(oneText, otherText) : [[plain(oneText)], [plain(otherText)]]),
    [areDone, oneText, otherText],
  );
  return html`<div class="page wide compare">
    <h1>${t("compare.heading")}</h1>
    <p class="quiet">${t("compare.about")}</p>
    <form
      onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        askBoth();
      }}
    >
      <label for="compare-question">${t("compare.question")}</label>
      <textarea id="compare-question" rows="2" required value=${question.value} onInput=${(/** @type {any} */ event) => (question.value = event.currentTarget.value)}></textarea>
      <div class="compare-options">
        <label><input type="checkbox" checked=${isTeam.value} onChange=${(/** @type {any} */ event) => (isTeam.value = event.currentTarget.checked)} /> ${t("composer.askTeam")}</label>
        ${before.value.length > 0 &&
        html`<span class="quiet">${t("compare.after", { n: before.value.length })}</span>
          <button type="button" class="plain" onClick=${() => (before.value = [])}>${t("compare.leaveOut")}</button>`}
        <button class="primary">${t("compare.both")}</button>
      </div>
    </form>
    <p role="status" aria-label=${t("compare.differences")}>${verdict(areDone, pieces[0] ?? [], pieces[1] ?? [])}</p>
    <div class="two-sides">
      <${SideView} side=${left} pieces=${pieces[0] ?? []} />
      <${SideView} side=${right} pieces=${pieces[1] ?? []} />
    </div>
  </div>`;
}

/** @param {string} text @returns {Piece} */
const plain = (text) => ({ text, differs: false });

/** @param {boolean} areDone @param {Piece[]} one @param {Piece[]} other */
function verdict(areDone, one, other) {
  if (!areDone) return "";
  const different = Math.max(...[one, other].map((pieces) => pieces.filter((piece) => piece.differs).length));
  if (!different) return t("compare.same");
  return t("compare.differ", { n: different });
}

/** @param {{ side: Side, pieces: Piece[] }} props */
function SideView({ side, pieces }) {
  const { id, protocol, streamed } = side;
  const run = side.run.value;
  const always = alwaysStreams(protocol.value);
  return html`<section class="card side-view" aria-label=${t(id === "left" ? "compare.left" : "compare.right")}>
    <div class="side-options">
      <label>${t("compare.protocol")}${" "}
        <select value=${protocol.value} onChange=${(/** @type {any} */ event) => (protocol.value = event.currentTarget.value)}>
          ${KNOWN.map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      <label><input type="checkbox" disabled=${always} checked=${always || streamed.value} onChange=${(/** @type {any} */ event) => (streamed.value = event.currentTarget.checked)} /> ${t("compare.streamed")}</label>
    </div>
    ${run
      ? html`<div class="decoded" role="group" aria-label=${t("compare.text")}>
            ${pieces.map(({ text, differs }) => (differs ? html`<mark>${text}</mark>` : text))}
          </div>
          ${run.failure.value && html`<p class="bad" role="alert">${run.failure.value}</p>`}
          <${ExchangeView} exchange=${run.exchange} name=${id} />`
      : html`<p class="empty">${t("compare.nothing")}</p>`}
  </section>`;
}
