/** A button that copies a text, and says that it has. */
import { html, useSignal } from "./html.js";
import { t } from "./texts.js";

const SECONDS = 2;

/** @param {{ text: () => string, label: string, children?: any }} props `label` says what is copied. */
export function CopyButton({ text, label, children = t("copy.copy") }) {
  const said = useSignal("");
  const copy = async () => {
    said.value = (await copied(text())) ? t("copy.copied") : t("copy.forbidden");
    setTimeout(() => (said.value = ""), SECONDS * 1000);
  };
  return html`<span class="copy">
    <button type="button" aria-label=${label} title=${label} onClick=${copy}>${children}</button>
    <span aria-live="polite" class="quiet">${said.value}</span>
  </span>`;
}

/**
 * The same for a button that is no component: its own words say what happened.
 * @param {string} text
 * @param {HTMLElement} button
 */
export async function copyFrom(text, button) {
  const before = button.textContent;
  button.textContent = (await copied(text)) ? t("copy.copied") : t("copy.not");
  setTimeout(() => (button.textContent = before), SECONDS * 1000);
}

/**
 * Copy a text. @param {string} text @param {string} [formatted] the same as HTML.
 * @returns {Promise<boolean>} whether the browser has let it.
 */
export async function copied(text, formatted) {
  try {
    const kinds = { "text/plain": text, ...(formatted && { "text/html": formatted }) };
    const blobs = Object.entries(kinds).map(([type, content]) => [type, new Blob([content], { type })]);
    await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
    return true;
  } catch {
    return copiedFromArea(text); // a page that is not served over TLS has no clipboard
  }
}

/** @param {string} text */
function copiedFromArea(text) {
  const area = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
