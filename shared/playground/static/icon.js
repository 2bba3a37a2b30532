/** The signs on buttons: those of Lucide. Which there are says `tools/vendor.py`. */
import { html } from "./html.js";
import { h } from "./vendor/preact.js";
import icons from "./vendor/lucide.js";

/** Those that point along the line: they are turned where it is written from the right. */
const TURNED = new Set(["arrow-left", "chevron-left", "chevron-right", "log-out", "panel-right"]);

/** A sign beside the words of a button, or in their place: then the button has a label.
 * @param {{ name: string }} props */
export function Icon({ name }) {
  return html`<svg class=${TURNED.has(name) ? "sign turned" : "sign"} viewBox="0 0 24 24" aria-hidden="true">${icons[name]?.map(([tag, attributes]) => h(tag, attributes))}</svg>`;
}
