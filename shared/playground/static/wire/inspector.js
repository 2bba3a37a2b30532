/** The panel's tab: what was on the wire for the selected turn. */
import { html, useSignal } from "../html.js";
import { selected } from "../state.js";
import { compareTurn } from "./comparing.js";
import { ExchangeView } from "./exchange.js";
import { KNOWN } from "./protocols.js";
import { t } from "../texts.js";

export function View() {
  const turn = selected.value;
  const exchange = turn?.exchange.value;
  const protocol = useSignal("openai");
  if (!turn) return html`<p class="empty">${t("wire.ask")}</p>`;
  return html`<div class="wire">
    <form
      class="again"
      onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        compareTurn(turn, protocol.value);
      }}
    >
      <label>${t("wire.again")}${" "}
        <select value=${protocol.value} onChange=${(/** @type {any} */ event) => (protocol.value = event.currentTarget.value)}>
          ${KNOWN.map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      <button>${t("compare.title")}</button>
    </form>
    ${exchange
      ? html`<${ExchangeView} exchange=${exchange} name="ag-ui" />`
      : html`<p class="empty">${t("wire.fromHistory")}</p>`}
  </div>`;
}
