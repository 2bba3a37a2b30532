/** The settings page: what questions send along, how the app is, and where front ends find it. */
import { html } from "../html.js";
import { FrontEnds } from "./front_ends.js";
import { Health } from "./health.js";
import { Overrides } from "./overrides.js";
import { chooseLanguage, chosenLanguage, LANGUAGES, t } from "../texts.js";

export function View() {
  return html`<div class="page settings">
    <h1>${t("settings.title")}</h1>
    <${LanguageChoice} />
    <${Overrides} />
    <${Health} />
    <${FrontEnds} />
  </div>`;
}

function LanguageChoice() {
  return html`<p>
    <label>${t("settings.language")}${" "}
      <select value=${chosenLanguage} onChange=${(/** @type {any} */ event) => chooseLanguage(event.currentTarget.value)}>
        <option value="">${t("settings.browser")}</option>
        ${Object.entries(LANGUAGES).map(([tag, { name }]) => html`<option value=${tag} lang=${tag}>${name}</option>`)}
      </select>
    </label>
  </p>`;
}
