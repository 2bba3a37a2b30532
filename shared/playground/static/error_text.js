/** A sentence that says what went wrong. Where the log has it is folded away: most readers have no log. */
import { html } from "./html.js";
import { rich, t } from "./texts.js";

/** The end of the app's sentences; group 1 finds the log entry. */
const INVOCATION = /\s*\((invocation [^)]*)\)$/;

/** @param {string} text */
export const withoutInvocation = (text) => text.replace(INVOCATION, "");

/** @param {{ text: string, more?: string }} props `more` follows the sentence. */
export function ErrorText({ text, more = "" }) {
  const invocation = INVOCATION.exec(text)?.[1];
  return html`<p>${withoutInvocation(text)}${more && ` ${more}`}</p>
    ${invocation && html`<details class="for-log"><summary>${t("error.details")}</summary><p>${rich("error.log", { entry: html`<code>${invocation}</code>` })}</p></details>`}`;
}
