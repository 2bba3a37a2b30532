/** Components whose modules are loaded when they are shown for the first time. */
import { html, useEffect, useSignal } from "./html.js";

/**
 * @param {() => Promise<{ View: () => any }>} load
 * @param {string} style the room's style sheet, below this folder.
 * @returns {() => any}
 */
export function lazy(load, style) {
  /** @type {Promise<[{ View: () => any }, void]> | null} */
  let loading = null;
  return () => {
    const view = useSignal(/** @type {{ View: () => any } | null} */ (null));
    const failed = useSignal(false);
    useEffect(() => {
      loading ??= Promise.all([load(), useStyle(style)]);
      loading.then(
        ([module]) => (view.value = module),
        () => {
          loading = null;
          failed.value = true;
        },
      );
    }, []);
    if (failed.value) return html`<p class="empty">This part did not load. Reload the page.</p>`;
    return view.value && html`<${view.value.View} />`;
  };
}

/** @param {string} path @returns {Promise<void>} when it applies. */
function useStyle(path) {
  const href = new URL(path, import.meta.url).href;
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  return new Promise((resolve, reject) => {
    link.onload = () => resolve();
    link.onerror = reject;
    document.head.append(link);
  });
}
