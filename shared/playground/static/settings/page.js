/** The settings page: what questions send along, how the app is, and where front ends find it. */
import { html } from "../html.js";
import { FrontEnds } from "./front_ends.js";
import { Health } from "./health.js";
import { Overrides } from "./overrides.js";

export function View() {
  return html`<div class="page settings">
    <h1>Settings</h1>
    <${Overrides} />
    <${Health} />
    <${FrontEnds} />
  </div>`;
}
