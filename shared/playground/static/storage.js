/** What the browser keeps for this page. A browser may refuse to keep anything; then it lasts as long as the page. */

const PREFIX = "switchboard.";

/**
 * Read what was kept.
 * @param {string} key
 * @param {Storage} [store] sessionStorage keeps until the tab is closed.
 * @returns {string | null} null: nothing, or it cannot be read.
 */
export function kept(key, store = localStorage) {
  try {
    return store.getItem(PREFIX + key);
  } catch {
    return null;
  }
}

/**
 * Keep a text; null deletes it.
 * @param {string} key
 * @param {string | null} value
 * @param {Storage} [store]
 */
export function keep(key, value, store = localStorage) {
  try {
    if (value === null) store.removeItem(PREFIX + key);
    else store.setItem(PREFIX + key, value);
  } catch {
    // Full, or forbidden by the browser: nothing that the reader has asked for depends on it.
  }
}
