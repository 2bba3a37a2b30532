/** A request and its answer as they are on the wire, and the request as a program. */
import { about } from "../about.js";
import { CopyButton } from "../copy.js";
import { html, signal } from "../html.js";
import { LANGUAGES, pretty } from "./copied.js";
import { Records } from "./records.js";

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
      <pre tabindex="0" aria-label=${`Body of the request of ${name}`}>${shownBody(exchange.requestBody)}</pre>
    </details>
    <details>
      <summary>
        <code>${status.value || "…"}</code>
        <span class="quiet"> ${endedAt.value ? `in ${endedAt.value} ms` : "arriving"}</span>
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
    <label>Copy as${" "}
      <select aria-label=${`Language of ${name}`} value=${language.value} onChange=${(/** @type {any} */ event) => (language.value = event.currentTarget.value)}>
        ${Object.entries(LANGUAGES).map(([id, one]) => html`<option value=${id}>${one.title}</option>`)}
      </select>
    </label>
    <${CopyButton} text=${program} label=${`Copy ${name} as ${title}`} />
    <details>
      <summary>Show</summary>
      <p class="quiet">${note}${needsKey ? " Set SWITCHBOARD_KEY to your key or token first, or type it where it asks." : ""}</p>
      <pre tabindex="0" aria-label=${`${name} as a program`}>${exchange.requestBody.length > LONGEST_BODY ? "It is too long to show; it can be copied." : program()}</pre>
    </details>
  </div>`;
}
