/** Signs in with Microsoft Entra ID, by its own library (authorization code with PKCE). Import it late: it is large. */
import { about } from "../about.js";
import { baseUrl } from "./http.js";
import msal from "../vendor/msal.js";
import { t } from "../texts.js";

/** An application gets a token for itself only by its bare id (AADSTS90009). */
const scopes = [`${about.client_id}/.default`];

const client = await msal.createStandardPublicClientApplication({
  auth: {
    clientId: about.client_id ?? "",
    authority: about.authority,
    knownAuthorities: [new URL(about.authority).host], // asks nobody else whether it is one
    redirectUri: `${baseUrl}/`,
  },
  cache: { cacheLocation: "sessionStorage" },
});

/**
 * Take up the answer of Microsoft's page, if the address has one, and show the place that the reader had left.
 * @returns {Promise<string>} the account's name; empty: nobody has signed in.
 */
export async function resume() {
  const result = await client.handleRedirectPromise({ navigateToLoginRequestUrl: false });
  if (result) history.replaceState(null, "", `#${result.state ?? "/"}`);
  if (result) dispatchEvent(new HashChangeEvent("hashchange"));
  return nameOf(client.getAllAccounts()[0]);
}

/** @returns {Promise<string | null>} an access token for the app; null: the reader has to sign in again. */
export async function token() {
  const account = client.getAllAccounts()[0];
  if (!account) return null;
  const cacheLookupPolicy = msal.CacheLookupPolicy.AccessTokenAndRefreshToken; // no hidden frame
  try {
    return (await client.acquireTokenSilent({ scopes, account, cacheLookupPolicy })).accessToken;
  } catch {
    return null;
  }
}

/** Leave for Microsoft's page. */
export function leave() {
  return client.acquireTokenRedirect({ scopes, state: location.hash.slice(1) || "/", prompt: "select_account" });
}

/** Forget all accounts. */
export function forget() {
  return client.clearCache();
}

/** @param {import("../vendor/msal.js").Account | undefined} account */
function nameOf(account) {
  return account ? account.name || account.username || t("signIn.someone") : "";
}
