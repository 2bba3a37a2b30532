/** Where documents are dropped or chosen, and how far each has come. */
import { Icon } from "../icon.js";
import { html, useSignal } from "../html.js";
import { ENDS, replace, upload, uploads } from "./uploads.js";
import { t } from "../texts.js";

/** What each state is called. @type {Record<string, string>} */
const WORDS = {
  waiting: t("uploads.waiting"),
  sending: t("uploads.sending"),
  reading: t("uploads.reading"),
  embedding: t("uploads.embedding"),
  writing: t("uploads.writing"),
  indexed: t("uploads.indexed"),
  queued: t("uploads.queued"),
  taken: t("uploads.taken"),
  failed: t("turn.failed"),
};

/**
 * @param {{ onDone: () => void, folder?: string }} props
 *   `onDone` is called after each upload; `folder`: where all of them go, else the reader says.
 */
export function UploadArea({ onDone, folder: always }) {
  const folder = useSignal(always ?? "");
  const here = uploads.value.filter((one) => one.name.startsWith("mine/") === Boolean(always));
  const isOver = useSignal(false);
  /** @param {FileList | null | undefined} files */
  const begin = (files) => upload([...(files ?? [])], folder.value, onDone);
  /** @param {DragEvent} event */
  const onDragOver = (event) => {
    event.preventDefault();
    isOver.value = true;
  };
  /** @param {DragEvent} event */
  const onDrop = (event) => {
    event.preventDefault();
    isOver.value = false;
    begin(event.dataTransfer?.files);
  };
  const onChange = (/** @type {any} */ event) => {
    begin(event.currentTarget.files);
    event.currentTarget.value = "";
  };
  const onInput = (/** @type {any} */ event) => (folder.value = event.currentTarget.value);
  return html`<section
    class=${`drop${isOver.value ? " over" : ""}`}
    aria-label=${always ? t("mine.area") : t("uploads.area")}
    onDragOver=${onDragOver}
    onDragLeave=${() => (isOver.value = false)}
    onDrop=${onDrop}
  >
    <p>${always ? t("mine.drop") : t("uploads.drop")}</p>
    <div class="drop-options">
      <label class="button primary"><${Icon} name="upload" />${t("uploads.choose")}<input type="file" class="visually-hidden" multiple onChange=${onChange} /></label>
      ${!always && html`<label>${t("uploads.folder")} <input type="text" placeholder=${t("uploads.noFolder")} value=${folder.value} onInput=${onInput} /></label>`}
    </div>
    ${here.length > 0 &&
    html`<ul class="uploads" aria-label=${t("uploads.list")}>
      ${here.map((one) => html`<${Progress} key=${one.id} one=${one} onDone=${onDone} />`)}
    </ul>`}
  </section>`;
}

/** @param {{ one: import("./uploads.js").Upload, onDone: () => void }} props */
function Progress({ one, onDone }) {
  const state = one.state.value;
  const tone = state === "failed" ? "bad" : state === "taken" ? "warn" : ENDS.has(state) ? "good" : "quiet";
  const more = one.detail.value ? `: ${one.detail.value}` : ENDS.has(state) ? "" : " …";
  return html`<li aria-label=${one.name}>
    <span>${one.name}</span>
    <span role="status" class=${tone}>${WORDS[state] ?? state}${more}</span>
    ${state === "taken" && html`<button type="button" onClick=${() => replace(one, onDone)}>${t("uploads.replace")}</button>`}
  </li>`;
}
