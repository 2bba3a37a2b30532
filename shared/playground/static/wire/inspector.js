/** The panel's tab: what was on the wire for the selected turn. */
import { html, useSignal } from "../html.js";
import { selected } from "../state.js";
import { compareTurn } from "./comparing.js";
import { ExchangeView } from "./exchange.js";
import { KNOWN } from "./protocols.js";

export function View() {
  const turn = selected.value;
  const exchange = turn?.exchange.value;
  const protocol = useSignal("openai");
  if (!turn) return html`<p class="empty">Ask a question: what the page sends, and each record that comes back, is shown here.</p>`;
  return html`<div class="wire">
    <form
      class="again"
      onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        compareTurn(turn, protocol.value);
      }}
    >
      <label>Send again as${" "}
        <select value=${protocol.value} onChange=${(/** @type {any} */ event) => (protocol.value = event.currentTarget.value)}>
          ${KNOWN.map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      <button>Compare</button>
    </form>
    ${exchange
      ? html`<${ExchangeView} exchange=${exchange} name="ag-ui" />`
      : html`<p class="empty">This answer is from the history: this page has not seen it on the wire.</p>`}
  </div>`;
}
