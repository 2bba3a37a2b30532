/** The settings page: how the page looks and speaks, and in the workbench what questions send along and how the app is. */
import { about, isWorkbench } from "../about.js";
import { baseUrl, request } from "../api/http.js";
import { newChat } from "../chat/asking.js";
import { deleteAllChats, keepProblem, nextOf } from "../chat/kept.js";
import { ErrorText } from "../error_text.js";
import { html, signal, useEffect, useSignal } from "../html.js";
import { keep } from "../storage.js";
import { singleKeys } from "../state.js";
import { Choice, SizeChoice, ThemeChoice } from "../theme.js";
import { Health } from "./health.js";
import { Overrides } from "./overrides.js";
import { chooseLanguage, chosenLanguage, LANGUAGES, t } from "../texts.js";

export function View() {
  return html`<div class="page settings">
    <h1>${t("settings.title")}</h1>
    <section class="choices" aria-label=${t("settings.title")}>
      <label class="choice"><span>${t("settings.language")}</span>
        <select value=${chosenLanguage} onChange=${(/** @type {any} */ event) => chooseLanguage(event.currentTarget.value)}>
          <option value="">${t("settings.browser")}</option>
          ${Object.entries(LANGUAGES).map(([tag, name]) => html`<option value=${tag} lang=${tag}>${name}</option>`)}
        </select>
      </label>
      <${ThemeChoice} />
      <${SizeChoice} />
      <label class="choice"><span>${t("chat.singleKeys")}</span> <input type="checkbox" checked=${singleKeys} onChange=${(/** @type {any} */ event) => (singleKeys.value = event.currentTarget.checked)} /></label>
      ${about.workbench && html`<${PageChoice} />`}
    </section>
    <${SharedChats} />
    <${DeleteChats} />
    ${isWorkbench && html`<${Overrides} /><${Health} />`}
  </div>`;
}

const MOST_SHARED = 100;
const page = signal(isWorkbench ? "" : "readers");
page.subscribe((chosen) => {
  if ((chosen === "") === isWorkbench) return;
  keep("page", chosen || null);
  location.reload();
});

/** Whether this is the workbench, or the page as readers have it: what can be seen of the app differs, not what may be. */
function PageChoice() {
  return html`<${Choice} label=${t("settings.page")} chosen=${page} options=${[["", t("settings.workbench")], ["readers", t("settings.readers")]]} />`;
}

/** The chats that the reader shares, and how each is taken back. */
function SharedChats() {
  const shared = useSignal(/** @type {(import("../chat/kept.js").Chat & { shared: string })[]} */ ([]));
  const problem = useSignal("");
  useEffect(() => {
    const load = async () => {
      for (let query = "?shared=true"; query && shared.value.length < MOST_SHARED; ) {
        const response = await request(`/chat-history${query}`);
        shared.value = [...shared.value, ...(await response.json())];
        query = nextOf(response);
      }
    };
    load().catch(() => {}); // no chats are kept here
  }, []);
  const stop = (/** @type {string} */ id) =>
    request(`/chat-history/${encodeURIComponent(id)}/share`, { method: "DELETE" })
      .then(() => (shared.value = shared.value.filter((chat) => chat.id !== id)))
      .catch((error) => (problem.value = error.message));
  if (!shared.value.length) return null;
  return html`<h2>${t("share.list")}</h2>
    <ul aria-label=${t("share.list")}>${shared.value.map((chat) => html`<li key=${chat.id}>
      <a href=${`${baseUrl}/#/shared/${chat.shared}`}>${chat.title}</a> <button type="button" class="plain" aria-label=${`${t("share.stop")}: ${chat.title}`} onClick=${() => stop(chat.id)}>${t("share.stop")}</button>
    </li>`)}</ul>${problem.value && html`<${ErrorText} text=${problem.value} />`}`;
}

/** Deletes all that is kept of the reader's chats, after a question. */
function DeleteChats() {
  const isAsking = useSignal(false);
  const remove = async () => {
    if (await deleteAllChats()) newChat(); // with the list, which is empty and says so
  };
  if (!isAsking.value) return html`<p><button type="button" onClick=${() => (isAsking.value = true)}>${t("settings.deleteAll")}</button></p>`;
  return html`<div class="asking grave" role="group" aria-label=${t("settings.deleteAll")}>
    <p>${t("settings.deleteAllSure")}</p>
    <button type="button" ref=${(/** @type {HTMLElement | null} */ button) => button?.focus()} onClick=${() => (isAsking.value = false)}>${t("chats.keep")}</button>
    ${" "}<button type="button" class="bad" onClick=${remove}>${t("documents.forGood")}</button>
    ${keepProblem.value && html`<${ErrorText} text=${keepProblem.value} />`}
  </div>`;
}
