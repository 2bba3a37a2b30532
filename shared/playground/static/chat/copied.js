/** An answer on the clipboard: formatted for word processors and mail, and as a text, both with numbers and a list of sources. */
import { html, useSignal } from "../html.js";
import { Icon } from "../icon.js";
import { copied } from "../copy.js";
import { shownName } from "../sources/names.js";
import { numbered, reasonsOf } from "../sources/why.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Turn} Turn */

const SECONDS = 2;
/** What stays of an answer; all else is of this page alone. */
const KEPT = new Set(["href", "start", "dir", "align"]);

/** @param {{ turn: Turn }} props */
export function CopyAnswer({ turn }) {
  const said = useSignal("");
  const copy = async (/** @type {any} */ event) => {
    const reply = event.currentTarget.closest(".reply");
    said.value = (await copied(asText(turn), asHtml(turn, reply))) ? t("copy.copied") : t("copy.not");
    setTimeout(() => (said.value = ""), SECONDS * 1000);
  };
  return html`<button class="plain act" aria-label=${said.value || t("turn.copy")} title=${t("turn.copy")} onClick=${copy}><${Icon} name=${said.value ? "check" : "copy"} /></button>
    <span aria-live="polite" class="visually-hidden">${said.value}</span>`;
}

/** @param {Turn} turn */
const citedBy = (turn) => reasonsOf(turn).filter((why) => why.number);

/** @param {Turn} turn */
function asText(turn) {
  const said = turn.agents.value.length ? turn.agents.value.map((agent) => `**${agent.name}**\n\n${agent.text.value}`) : [turn.text.value];
  const sources = citedBy(turn).map(({ source, number }) => `[${number}] ${shownName(source.id)}`);
  const parts = [...said.map((text) => numbered(text, turn, (number) => `[${number}]`).trim()), ...(sources.length ? [`${t("sources.title")}:\n${sources.join("\n")}`] : [])];
  return `${parts.join("\n\n")}\n`;
}

/** @param {Turn} turn @param {Element} reply */
function asHtml(turn, reply) {
  const whole = document.createElement("div");
  for (const part of reply.querySelectorAll(".agent > h3, .answer")) whole.append(part.cloneNode(true));
  if (!whole.firstChild) whole.append(Object.assign(document.createElement("p"), { innerText: turn.text.value })); // not drawn yet
  for (const chip of whole.querySelectorAll(".cite")) chip.replaceWith(`[${chip.textContent}]`);
  for (const formula of whole.querySelectorAll(".math")) formula.replaceWith(formula.querySelector("annotation")?.textContent ?? formula.textContent ?? "");
  for (const head of whole.querySelectorAll(".code-head")) head.remove();
  for (const table of whole.querySelectorAll("table")) Object.assign(table, { border: "1", cellPadding: "4", cellSpacing: "0" });
  for (const element of whole.querySelectorAll("*")) {
    for (const { name } of [...element.attributes]) if (!KEPT.has(name) && element.tagName !== "TABLE") element.removeAttribute(name);
  }
  const sources = document.createElement("ol");
  for (const { source } of citedBy(turn)) sources.append(Object.assign(document.createElement("li"), { textContent: shownName(source.id) }));
  if (sources.children.length) whole.append(Object.assign(document.createElement("p"), { textContent: `${t("sources.title")}:` }), sources);
  return whole.innerHTML;
}
