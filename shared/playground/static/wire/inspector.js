/** The panel's tab: the request and the answer of the selected turn, as they were on the wire. */
import { about } from "../about.js";
import { html } from "../html.js";
import { selected } from "../state.js";
import { pretty, Records } from "./records.js";
import { t } from "../texts.js";

const LONGEST_BODY = 200_000;

export function View() {
  const turn = selected.value;
  const exchange = turn?.exchange.value;
  if (!exchange) return html`<p class="empty">${t(turn ? "wire.fromHistory" : "behind.ask")}</p>`;
  const { method, url, status, endedAt, requestHeaders, requestBody } = exchange;
  // The key or token is never shown.
  const sent = ["bearer", "api-key"].includes(about.auth_mode) ? [...requestHeaders, ["authorization", "Bearer …"]] : requestHeaders;
  return html`<div class="exchange">
    <details>
      <summary><code dir="ltr">${method} ${new URL(url).pathname}</code></summary>
      <${Headers} headers=${sent} />
      <pre tabindex="0" dir="ltr" aria-label=${t("wire.body")}>${requestBody.length > LONGEST_BODY ? `${requestBody.slice(0, LONGEST_BODY)} …` : pretty(requestBody)}</pre>
    </details>
    <details>
      <summary>
        <code>${status.value || "…"}</code>
        <span class="quiet"> ${endedAt.value ? t("wire.took", { ms: String(endedAt.value) }) : t("turn.writing")}</span>
      </summary>
      <${Headers} headers=${exchange.responseHeaders.value} />
    </details>
    <${Records} records=${exchange.records.value} dropped=${exchange.dropped.value} />
  </div>`;
}

/** @param {{ headers: string[][] }} props */
function Headers({ headers }) {
  return html`<dl class="headers" dir="ltr">${headers.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
