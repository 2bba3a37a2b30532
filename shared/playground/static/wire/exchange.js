/** A request and its answer as they are on the wire, and the request as a program. */
import { about } from "../about.js";
import { CopyButton } from "../copy.js";
import { html, signal } from "../html.js";
import { LANGUAGES, pretty } from "./copied.js";
import { Records } from "./records.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Exchange} Exchange */

const LONGEST_BODY = 200_000;

/** Whether requests say who asks; the key or token is never shown. */
const needsKey = about.auth_mode === "bearer" || about.auth_mode === "api-key";

/** The language of copied programs. */
const language = signal("curl");

/** @param {{ exchange: Exchange, name: string }} props `name` tells two exchanges on a page apart. */
export function ExchangeView({ exchange, name }) {
  const { method, url, status, endedAt } = exchange;
  const path = new URL(url).pathname;
  const sent = needsKey ? [...exchange.requestHeaders, ["authorization", "Bearer …"]] : exchange.requestHeaders;
  return html`<div class="exchange">
    <details>
      <summary><code>${method} ${path}</code></summary>
      <${Headers} headers=${sent} />
      <pre tabindex="0" aria-label=${t("wire.body", { name })}>${shownBody(exchange.requestBody)}</pre>
    </details>
    <details>
      <summary>
        <code>${status.value || "…"}</code>
        <span class="quiet"> ${endedAt.value ? t("wire.took", { ms: String(endedAt.value) }) : t("wire.arriving")}</span>
      </summary>
      <${Headers} headers=${exchange.responseHeaders.value} />
    </details>
    <${Records} records=${exchange.records.value} dropped=${exchange.dropped.value} name=${name} />
    <${CopyAs} exchange=${exchange} name=${name} />
  </div>`;
}

/** @param {{ headers: string[][] }} props */
function Headers({ headers }) {
  return html`<dl class="headers">${headers.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** @param {string} body */
function shownBody(body) {
  return body.length > LONGEST_BODY ? `${body.slice(0, LONGEST_BODY)} …` : pretty(body);
}

/** @param {{ exchange: Exchange, name: string }} props */
function CopyAs({ exchange, name }) {
  const { title, note, write } = LANGUAGES[language.value] ?? /** @type {any} */ (LANGUAGES.curl);
  const { method, url, requestHeaders: headers, requestBody: body } = exchange;
  const program = () => write({ method, url, headers, body, needsKey });
  return html`<div class="copy-as">
    <label>${t("wire.copyAs")}${" "}
      <select aria-label=${t("wire.language", { name })} value=${language.value} onChange=${(/** @type {any} */ event) => (language.value = event.currentTarget.value)}>
        ${Object.entries(LANGUAGES).map(([id, one]) => html`<option value=${id}>${one.title}</option>`)}
      </select>
    </label>
    <${CopyButton} text=${program} label=${t("wire.copyOne", { name, title })} />
    <details>
      <summary>${t("wire.show")}</summary>
      <p class="quiet">${note}${needsKey ? ` ${t("wire.needsKey")}` : ""}</p>
      <pre tabindex="0" aria-label=${t("wire.program", { name })}>${exchange.requestBody.length > LONGEST_BODY ? t("wire.tooLong") : program()}</pre>
    </details>
  </div>`;
}
