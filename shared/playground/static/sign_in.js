/** What the reader sees of signing in: a form above the page when the app asks for it, and a button to sign out. */
import { about } from "./about.js";
import { mustSignIn } from "./api/http.js";
import { account, failure, give, isSignedIn, sendsCredential, signInWithMicrosoft, signOut, tryAgain } from "./api/sign_in.js";
import { html, useEffect, useSignal } from "./html.js";

export function SignIn() {
  if (!mustSignIn.value) return null;
  return html`
    <section class="sign-in card" aria-labelledby="sign-in">
      <h2 id="sign-in">Sign in</h2>
      <${{ "api-key": ByKey, bearer: ByMicrosoft, "easy-auth": ByPlatform, none: ByPlatform }[about.auth_mode]} />
      <p role="alert" class="bad">${failure}</p>
    </section>
  `;
}

function ByKey() {
  return html`
    <p>This app answers those who have one of its API keys. The key is kept until you close this tab.</p>
    <${Credential} label="API key" button="Use this key" />
    <p class="quiet">Whoever runs the app makes keys with <code>make api-key NAME=…</code>.</p>
  `;
}

function ByMicrosoft() {
  return html`
    <p>This app answers the users of its directory.</p>
    <p><button class="primary" onClick=${signInWithMicrosoft}>Sign in with Microsoft</button></p>
    <details>
      <summary>Use an access token instead</summary>
      <${Credential} label="Access token for this app" button="Use this token" />
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
    <p>You are not signed in, or no longer. What you have typed stays here: sign in in a new tab, and come back.</p>
    <p>
      <a class="button primary" target="_blank" rel="noopener" href=${`/.auth/login/aad?post_login_redirect_uri=${back}`}>Sign in</a>${" "}
      <button onClick=${tryAgain}>I have signed in</button>
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
  return html`<button class="plain" title=${account.value || undefined} onClick=${signOut}>Sign out</button>`;
}
