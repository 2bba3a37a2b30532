/** The colours: those of the system, unless the reader has chosen. */
import { effect, signal } from "./html.js";
import { kept, keep } from "./storage.js";

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

/** Change to the next: system, light, dark. */
export function nextTheme() {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}
