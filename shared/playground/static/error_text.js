/** What went wrong, as a sentence in the reader's language. What the app says of it itself is folded away: most readers have
 * no log. */
import { isWorkbench } from "./about.js";
import { html } from "./html.js";
import { language, locale, t } from "./texts.js";

/** What the page says for each code of the app (`shared/errors.py`). @type {Record<string, string>} */
const SENTENCES = {
  bad_request: t("error.badRequest"),
  content_filter: t("error.contentFilter"),
  unauthorized: t("error.unauthorized"),
  forbidden: t("error.forbidden"),
  not_found: t("error.notFound"),
  request_timeout: t("error.timeout"),
  already_there: t("error.alreadyThere"),
  conflict: t("error.conflict"),
  too_large: t("error.tooLarge"),
  unreadable: t("error.unreadable"),
  rate_limited: t("error.rateLimited"),
  overloaded: t("error.rateLimited"),
  internal_error: t("error.internal"),
  unavailable: t("error.unavailable"),
  not_configured: t("error.unavailable"),
  timeout: t("error.timeout"),
};
/** Those whose sentence of the app says what a reader can do, so that it is shown where the page is in its language. */
const FOR_READERS = new Set(["bad_request", "content_filter", "already_there", "conflict", "too_large", "unreadable"]);
/** The code of an answer that tells none, by its status. @type {Record<number, string>} */
const CODES = {
  400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 408: "request_timeout", 409: "already_there", 413: "too_large",
  422: "unreadable", 429: "rate_limited", 500: "internal_error", 502: "unavailable", 503: "unavailable", 504: "timeout",
};
const LONG_WAIT = 300;

/**
 * What to show of an error of the app: the page's sentence, and on the next line the app's.
 * @param {string} message the app's, in English, which ends with where the log has it.
 * @param {string} code @param {number} [status] of the response, if it has one. @param {number} [retryAfter] seconds.
 */
export function told(message, code, status = 0, retryAfter = 0) {
  const known = code in SENTENCES ? code : (CODES[status] ?? code);
  if (language === "en" && (isWorkbench || FOR_READERS.has(known)) && message) return message;
  const until = new Date(Date.now() + retryAfter * 1000).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
  const sentence = retryAfter > LONG_WAIT ? t("error.usedUp", { until }) : SENTENCES[known];
  return sentence ? `${sentence}\n${message}` : message;
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
