/** Components whose modules are loaded when they are shown for the first time. */
import { html, useEffect, useSignal } from "./html.js";
import { t } from "./texts.js";

/**
 * @template {object} [Props={}]
 * @typedef {{ View: (props: Props) => any }} Module
 */

/**
 * @template {object} [Props={}]
 * @param {() => Promise<Module<Props>>} load
 * @param {string} [style] the room's style sheet, below this folder.
 * @returns {(props: Props) => any}
 */
export function lazy(load, style) {
  /** @type {Promise<void> | null} */
  let loading = null;
  /** @type {Module<Props> | null} */
  let loaded = null;
  const start = async () => {
    [loaded] = await Promise.all([load(), style && useStyle(style)]);
  };
  return (props) => {
    const view = useSignal(loaded);
    const failed = useSignal(false);
    useEffect(() => {
      loading ??= start();
      loading.then(
        () => (view.value = loaded),
        () => {
          loading = null;
          failed.value = true;
        },
      );
    }, []);
    if (failed.value) return html`<p class="empty">${t("lazy.failed")}</p>`;
    return view.value && html`<${view.value.View} ...${props} />`;
  };
}

/** @param {string} path @returns {Promise<void>} when it applies. */
export function useStyle(path) {
  const href = new URL(path, import.meta.url).href;
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  return new Promise((resolve, reject) => {
    link.onload = () => resolve();
    link.onerror = reject;
    document.head.append(link);
  });
}
