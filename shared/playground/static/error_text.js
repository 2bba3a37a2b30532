/** What went wrong, as a sentence in the reader's language: the text `error.CODE` of what the app tells. What the app says of it itself is folded away: most readers have
 * no log. */
import { isWorkbench } from "./about.js";
import { html } from "./html.js";
import { hasText, language, locale, t } from "./texts.js";

/** Codes of the app (`shared/errors.py`) that mean the same for a reader as others. @type {Record<string, string>} */
const SAME = { request_timeout: "timeout", overloaded: "rate_limited", not_configured: "unavailable" };
/** Those whose sentence of the app says what a reader can do, so that it is shown where the page is in its language. */
const FOR_READERS = new Set(["bad_request", "content_filter", "already_there", "conflict", "too_large", "unreadable"]);
/** The code of an answer that tells none, by its status. @type {Record<number, string>} */
const CODES = {
  400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 408: "timeout", 409: "already_there", 413: "too_large",
  422: "unreadable", 429: "rate_limited", 500: "internal_error", 502: "unavailable", 503: "unavailable", 504: "timeout",
};
const LONG_WAIT = 300;

/**
 * What the app tells of an error beside its sentence: a code for its kind, one for what the sentence says with its values
 * (`shared/wire/reasons.json`), and the seconds to wait.
 * @typedef {{ code?: string, status?: number, retryAfter?: number, reason?: string, values?: Record<string, string | number> }} Told
 */

/**
 * What to show of an error of the app: the page's sentence, and on the next line the app's.
 * @param {string} message the app's, in English, which ends with where the log has it.
 * @param {Told} told
 */
export function told(message, { code = "", status = 0, retryAfter = 0, reason = "", values = {} }) {
  if (language === "en" && isWorkbench && message) return message;
  const until = new Date(Date.now() + retryAfter * 1000).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
  const said = retryAfter > LONG_WAIT ? "tokens_used_up" : reason;
  const known = [said, SAME[code] ?? code, CODES[status] ?? ""].find((one) => hasText(`error.${one}`)) ?? "";
  if (!known || (language === "en" && FOR_READERS.has(known) && message)) return message;
  return `${t(/** @type {any} */ (`error.${known}`), { ...values, until })}\n${message}`;
}

/** The sentence for the reader. @param {string} text */
export const withoutDetails = (text) => text.replace(/\n[^]*$|\s*\(invocation [^)]*\)$/, "");

/** @param {{ text: string, more?: string }} props `more` follows the sentence. */
export function ErrorText({ text, more = "" }) {
  const sentence = withoutDetails(text);
  const details = text.slice(sentence.length).trim().replace(/^\((.*)\)$/, "$1");
  return html`<p>${sentence}${more && ` ${more}`}</p>
    ${details && html`<details class="for-log"><summary>${t("error.details")}</summary><p dir="auto"><code>${details}</code></p></details>`}`;
}
