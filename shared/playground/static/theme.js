/** The colours, those of the system unless the reader has chosen, with the organisation's own; and the size of texts. */
import { about } from "./about.js";
import { effect, html, signal } from "./html.js";
import { kept, keep } from "./storage.js";
import { t } from "./texts.js";

const theme = signal(kept("theme") ?? "system");
const size = signal(kept("size") ?? "100");
const { style, dataset } = document.documentElement;
if (about.page.color) style.setProperty("--brand", readable(about.page.color));

/** A colour as dark as texts on white have to be (WCAG 2.2, 1.4.3). @param {string} color such as `#0550ae`. */
function readable(color) {
  const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
  const luminance = (/** @type {number} */ share) =>
    parts.map((part) => part * share).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)).reduce((sum, part, at) => sum + part * (at === 1 ? 0.7152 : at ? 0.0722 : 0.2126), 0);
  let share = 1;
  while (1.05 / (luminance(share) + 0.05) < 4.6) share -= 0.02;
  return `rgb(${parts.map((part) => Math.round(part * share * 255)).join(" ")})`;
}

effect(() => {
  dataset.theme = theme.value;
  keep("theme", theme.value);
});
effect(() => {
  style.fontSize = `${size.value}%`;
  keep("size", size.value);
});

export function ThemeChoice() {
  return html`<${Choice} label=${t("theme.title")} chosen=${theme} options=${[["system", t("theme.system")], ["light", t("theme.light")], ["dark", t("theme.dark")]]} />`;
}

export function SizeChoice() {
  return html`<${Choice} label=${t("size.title")} chosen=${size} options=${[["100", t("size.normal")], ["115", t("size.large")], ["130", t("size.larger")]]} />`;
}

/** A choice of a few, kept in a signal.
 * @param {{ label: string, chosen: import("./types.js").Signal<any>, options: string[][] }} props */
export function Choice({ label, chosen, options }) {
  return html`<label class="choice"><span>${label}</span>
    <select value=${chosen.value} onChange=${(/** @type {any} */ event) => (chosen.value = event.currentTarget.value)}>
      ${options.map(([value, name]) => html`<option value=${value}>${name}</option>`)}
    </select>
  </label>`;
}
