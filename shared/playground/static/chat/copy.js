/** Copies a text, and says so on the button. */

/** @param {string} text @param {HTMLElement} button */
export async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed by the browser";
  }
  setTimeout(() => (button.textContent = before), 1500);
}
