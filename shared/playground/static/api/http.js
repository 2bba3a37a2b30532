/** How the page asks the app: with the caller's key or token, and with failures as sentences. */
import { told } from "../error_text.js";
import { signal } from "../html.js";
import { t } from "../texts.js";

/** The URL of the app's routes, without a slash at its end. */
export const baseUrl = new URL(".", location.href).href.replace(/\/+$/, "");

/**
 * What gives the value of `Authorization`; null: none. `api/sign_in.js` sets it.
 * @type {{ authorization: () => Promise<string | null> }}
 */
export const credentials = { authorization: async () => null };

/** Whether the app has refused a request because its caller has not signed in, or no longer is. */
export const mustSignIn = signal(false);

/** A failed request. Its message is for the reader. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {{ status?: number, code?: string, retryAfter?: number }} [details] `retryAfter` is in seconds.
   */
  constructor(message, details = {}) {
    super(message);
    this.status = details.status ?? 0;
    this.code = details.code ?? "";
    this.retryAfter = details.retryAfter ?? 0;
  }
}

/**
 * The URL of a route.
 * @param {string} path begins with a slash.
 */
export const apiUrl = (path) => baseUrl + path;

/**
 * Send a request.
 * @param {string} path begins with a slash.
 * @param {RequestInit} [init]
 * @returns {Promise<Response>} one whose status is below 400.
 * @throws {ApiError} for any other answer, or none; an abort throws as `fetch` does.
 */
export async function request(path, init = {}) {
  const headers = new Headers(init.headers);
  const authorization = await credentials.authorization();
  if (authorization) headers.set("authorization", authorization);
  let response;
  try {
    response = await fetch(apiUrl(path), { ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(navigator.onLine ? t("http.noAnswer") : t("http.offline"));
  }
  if (response.status === 401) mustSignIn.value = true;
  if (response.status >= 400) throw await failureOf(response);
  return response;
}

/**
 * The error that a response tells, in the shape of any protocol.
 * @param {Response} response
 */
export async function failureOf(response) {
  const text = await response.text().catch(() => "");
  const { message, retry_after, ...beside } = errorIn(text);
  const { status } = response;
  const retryAfter = Number(response.headers.get("retry-after")) || 0; // none, where the wait is long
  const shown = told(message || t("http.status", { status: String(status) }), { status, retryAfter: retry_after ?? retryAfter, ...beside });
  return new ApiError(shown, { status, retryAfter, code: beside.code });
}

/**
 * @param {string} text
 * @returns {import("../error_text.js").Told & { message: string, retry_after?: number }}
 */
function errorIn(text) {
  try {
    const { error, ...beside } = JSON.parse(text);
    return typeof error === "string" ? { ...beside, message: error } : { ...error, message: String(error.message) };
  } catch {
    return { message: text.startsWith("<") ? "" : text.slice(0, 500) };
  }
}
