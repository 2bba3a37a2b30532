/** What the reader sees of signing in: a form above the page when the app asks for it, and a button to sign out. */
import { about, isWorkbench } from "./about.js";
import { mustSignIn } from "./api/http.js";
import { account, failure, give, isSignedIn, sendsCredential, signInWithMicrosoft, signOut, tryAgain } from "./api/sign_in.js";
import { html, useEffect, useSignal } from "./html.js";
import { Icon } from "./icon.js";
import { rich, t } from "./texts.js";

export function SignIn() {
  if (!mustSignIn.value) return null;
  return html`
    <section class="sign-in card" aria-labelledby="sign-in">
      <h2 id="sign-in">${t("signIn.title")}</h2>
      <${{ "api-key": ByKey, bearer: ByMicrosoft, "easy-auth": ByPlatform, none: ByPlatform }[about.auth_mode]} />
      <p role="alert" class="bad">${failure}</p>
    </section>
  `;
}

function ByKey() {
  return html`
    <p>${t("signIn.byKey")}</p>
    <${Credential} label=${t("signIn.key")} button=${t("signIn.useKey")} />
    <p class="quiet">${isWorkbench ? rich("signIn.makeKey") : t("signIn.askForKey")}</p>
  `;
}

function ByMicrosoft() {
  return html`
    <p>${t("signIn.byMicrosoft")}</p>
    <p><button class="primary" onClick=${signInWithMicrosoft}>${t("signIn.withMicrosoft")}</button></p>
    <details>
      <summary>${t("signIn.orToken")}</summary>
      <${Credential} label=${t("signIn.token")} button=${t("signIn.useToken")} />
    </details>
  `;
}

/** App Service Authentication keeps a cookie: in a second tab, so that nothing that is open here is lost. */
function ByPlatform() {
  const back = encodeURIComponent(location.pathname);
  useEffect(() => {
    addEventListener("focus", tryAgain);
    return () => removeEventListener("focus", tryAgain);
  }, []);
  return html`
    <p>${t("signIn.byPlatform")}</p>
    <p>
      <a class="button primary" target="_blank" rel="noopener" href=${`/.auth/login/aad?post_login_redirect_uri=${back}`}>${t("signIn.title")}</a>${" "}
      <button onClick=${tryAgain}>${t("signIn.done")}</button>
    </p>
  `;
}

/** @param {{ label: string, button: string }} props */
function Credential({ label, button }) {
  const text = useSignal("");
  const isTrying = useSignal(false);
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    isTrying.value = true;
    if (await give(text.value)) text.value = "";
    isTrying.value = false;
  };
  return html`
    <form onSubmit=${submit}>
      <label for="credential">${label}</label>
      <input
        id="credential"
        type="password"
        autocomplete="off"
        spellcheck=${false}
        required
        value=${text}
        onInput=${(/** @type {any} */ event) => (text.value = event.target.value)}
      />
      <button class="primary" disabled=${isTrying}>${button}</button>
    </form>
  `;
}

export function SignOut() {
  if (!sendsCredential || !isSignedIn()) return null;
  return html`<button class="plain" title=${account.value || undefined} onClick=${signOut}><${Icon} name="log-out" />${t("signIn.out")}</button>`;
}
