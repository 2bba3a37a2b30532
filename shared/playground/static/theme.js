/** The colours: those of the system, unless the reader has chosen. */
import { effect, html, signal } from "./html.js";
import { Icon } from "./icon.js";
import { kept, keep } from "./storage.js";
import { t } from "./texts.js";

/** @typedef {"system" | "light" | "dark"} Theme */

const KEY = "theme";

/** @type {import("./vendor/signals.js").Signal<Theme>} */
export const theme = signal(readTheme());

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  keep(KEY, theme.value);
});

/** @returns {Theme} */
function readTheme() {
  const chosen = kept(KEY);
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** @type {Record<Theme, { label: string, sign: string, next: Theme }>} */
const THEMES = {
  system: { label: t("theme.system"), sign: "sun-moon", next: "light" },
  light: { label: t("theme.light"), sign: "sun", next: "dark" },
  dark: { label: t("theme.dark"), sign: "moon", next: "system" },
};

export function ThemeButton() {
  const { label, sign, next } = THEMES[theme.value];
  return html`<button class="icon" aria-label=${label} title=${label} onClick=${() => (theme.value = next)}><${Icon} name=${sign} /></button>`;
}
