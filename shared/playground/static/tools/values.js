/** Shows JSON to people who do not read JSON: names with their values. */
import { html } from "../html.js";
import { t } from "../texts.js";

const DEEPEST = 4;
/** Characters that a reader does not see, or that change the order of those around them; not the end of a line. */
const UNSEEN = /[^\P{C}\n\t]|\u034f|[\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164]|[\ufe00-\ufe0f]|[\uffa0\u{e0100}-\u{e01ef}]/gu;
const LONGEST_DESCRIPTION = 200;

/** What a tool does, as its server says, with nothing hidden, in one short line. @param {string} description */
export function purposeOf(description) {
  const about = [...visible(description.split(/\s+/).join(" ").trim())];
  return about.length > LONGEST_DESCRIPTION ? `${about.slice(0, LONGEST_DESCRIPTION).join("")}…` : about.join("");
}

/** A text in which nothing is hidden. @param {string} text */
const visible = (text) => text.replace(UNSEEN, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);

/**
 * A text that may be JSON: an object as a table of its values, all else as it is.
 * @param {{ json: string, isResult?: boolean }} props
 */
export function Values({ json, isResult = false }) {
  let read;
  try {
    read = JSON.parse(json, asWritten);
  } catch {
    // It is a text, or is not whole yet.
  }
  if (isResult && Object.keys(read ?? {}).join() === "result") read = read.result; // so SDKs of MCP wrap what is no object
  if (typeof read === "string") return html`<p class="value" dir="auto">${visible(read)}</p>`;
  if (typeof read === "object" && read !== null) return html`<${Value} value=${read} depth=${0} />`;
  return json && html`<p class="value" dir="auto">${visible(json)}</p>`;
}

/** A number as it was written: one of many digits would become another. @type {(key: string, value: any, context?: { source?: string }) => any} */
const asWritten = (_, value, context) => (typeof value === "number" ? (context?.source ?? value) : value);

/** @param {{ value: any, depth: number }} props */
function Value({ value, depth }) {
  if (typeof value === "boolean") return t(value ? "tools.true" : "tools.false");
  if (value === null || value === "") return html`<span class="quiet">${t("tools.empty")}</span>`;
  if (typeof value !== "object" || depth === DEEPEST) return visible(typeof value === "string" ? value : JSON.stringify(value));
  const entries = Object.entries(value);
  if (!entries.length) return html`<span class="quiet">${t("tools.empty")}</span>`;
  return html`<table class="values"><tbody>
    ${entries.map(([name, one]) => html`<tr><th scope="row">${Array.isArray(value) ? Number(name) + 1 : visible(name.replaceAll("_", " "))}</th><td dir="auto"><${Value} value=${one} depth=${depth + 1} /></td></tr>`)}
  </tbody></table>`;
}
