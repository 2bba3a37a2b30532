/** How the reader signs in, by the app's `AUTH_MODE`. A key or a token is kept until the tab is closed, and sent nowhere else. */
import { about } from "../about.js";
import { signal } from "../html.js";
import { keep, kept } from "../storage.js";
import { ApiError, apiUrl, credentials, failureOf, mustSignIn } from "./http.js";
import { t } from "../texts.js";

const KEY = "credential";
/** Any route that answers only those who have signed in, and costs nothing. */
const CHECKED_BY = "/v1/models";

/** Whether the page has to send who asks; else the platform in front of the app knows, from a cookie. */
export const sendsCredential = about.auth_mode === "api-key" || about.auth_mode === "bearer";

/** What the reader has typed or pasted: a key or a token. Null: nothing. */
const given = signal(sendsCredential ? kept(KEY, sessionStorage) : null);

/** The name of the account that has signed in with Microsoft; empty: none. */
export const account = signal("");

/** Why signing in has failed, as a sentence. */
export const failure = signal("");

/** @type {typeof import("./entra.js") | null} */
let entra = null;

/** Whether there is something to sign out of. */
export const isSignedIn = () => given.value !== null || account.value !== "";

credentials.authorization = async () => {
  if (!sendsCredential) return null;
  const credential = given.value ?? (await started.then(() => entra?.token()));
  if (credential) return `Bearer ${credential}`;
  mustSignIn.value = true;
  throw new ApiError(t("signIn.first"), { status: 401 });
};

/** Takes up what was begun before the page was loaded: a sign-in with Microsoft, or its result. */
const started = sendsCredential && given.value === null ? start() : Promise.resolve();

async function start() {
  if (about.auth_mode === "bearer" && hasBegun()) {
    try {
      entra = await import("./entra.js");
      account.value = await entra.resume();
    } catch (error) {
      failure.value = sentenceOf(error);
    }
  }
  if (!account.value) mustSignIn.value = true;
}

/** Whether this tab has been sent to sign in before: the library, which is large, is loaded only then. */
function hasBegun() {
  return kept("entra", sessionStorage) !== null;
}

/**
 * Try a key or a token, and keep it if the app takes it.
 * @param {string} credential
 * @returns {Promise<boolean>} whether it does; if not, `failure` says why.
 */
export async function give(credential) {
  const tried = credential.trim().replace(/^bearer\s+/i, "");
  failure.value = await refusalOf(tried);
  if (failure.value) return false;
  given.value = tried;
  keep(KEY, tried, sessionStorage);
  mustSignIn.value = false;
  return true;
}

/**
 * @param {string} credential
 * @returns {Promise<string>} empty: the app takes it.
 */
async function refusalOf(credential) {
  const isKey = about.auth_mode !== "bearer";
  if (!/^[\x21-\x7e]+$/.test(credential)) return t(isKey ? "signIn.badKey" : "signIn.badToken");
  try {
    const response = await fetch(apiUrl(CHECKED_BY), { headers: { authorization: `Bearer ${credential}` } });
    if (response.ok) return "";
    if (response.status === 401 && isKey) return t("signIn.noSuchKey");
    return (await failureOf(response)).message;
  } catch {
    return t("signIn.noAnswer");
  }
}

/** Go to Microsoft's page; it comes back to this one. */
export async function signInWithMicrosoft() {
  failure.value = "";
  try {
    entra = await import("./entra.js");
    keep("entra", "begun", sessionStorage);
    await entra.leave();
  } catch (error) {
    failure.value = sentenceOf(error);
  }
}

/** Forget who has signed in in this tab, and what the page shows of theirs. */
export async function signOut() {
  keep(KEY, null, sessionStorage);
  keep("entra", null, sessionStorage);
  await entra?.forget();
  location.reload();
}

/** Ask the app again whether it answers this caller: after a sign-in in another tab. */
export async function tryAgain() {
  const response = await fetch(apiUrl(CHECKED_BY)).catch(() => null);
  failure.value = response?.ok ? "" : t("signIn.notYet");
  mustSignIn.value = !response?.ok;
}

/** @param {unknown} error */
function sentenceOf(error) {
  return t("signIn.failed", { why: error instanceof Error ? error.message : String(error) });
}
