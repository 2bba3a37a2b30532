/** A document in a list, with what can be done with it. */
import { isWorkbench } from "../about.js";
import { apiUrl } from "../api/http.js";
import { sendsCredential } from "../api/sign_in.js";
import { ErrorText, told } from "../error_text.js";
import { html, useSignal } from "../html.js";
import { download } from "../sources/documents.js";
import { pathOf } from "./uploads.js";
import { kindOf, leftOut, sizeOf } from "./words.js";
import { day, t } from "../texts.js";

/** @typedef {{ name: string, type: string, size: number, last_modified: string, passages: number, pages: number | null, left_out: string }} Listed */
/** @typedef {{ name: string, state: "failed", detail: string, when: string } & import("../error_text.js").Told} Failed */

/** Documents that could not be indexed, and why.
 * @param {{ failed: Failed[], remove: ((name: string) => void) | null, isOwn?: boolean }} props */
export function FailedList({ failed, remove, isOwn }) {
  const entryOf = (/** @type {Failed} */ { name, when }) => ({ name, type: "", size: 0, last_modified: when, passages: 0, pages: null, left_out: "" });
  return html`<h2>${t("documents.failed")}</h2>
    <ul class="document-list" aria-label=${t("documents.failed")}>
      ${failed.map((one) => html`<${Row} key=${one.name} one=${entryOf(one)} why=${told(one.detail, { code: "unreadable", ...one })} remove=${remove} isOwn=${isOwn} />`)}
    </ul>`;
}

/**
 * @param {{ one: Listed, remove: ((name: string) => void) | null, until?: string, isOwn?: boolean, why?: string }} props
 *   `remove`: null, where the reader may not; `until`: when the document goes by itself; `why` it could not be indexed.
 */
export function Row({ one, remove, until = "", isOwn = false, why = "" }) {
  const isAsking = useSignal(false);
  const problem = useSignal("");
  const { name, size, last_modified, passages, pages, left_out } = one;
  const shown = isOwn ? name.replace(/^mine\//, "") : name;
  const facts = [
    why ? "" : !passages ? t("documents.notIndexed") : isWorkbench ? t("documents.passages", { n: passages }) : "",
    pages && pages > 1 ? t("documents.pages", { n: pages }) : "",
    !why && sizeOf(size),
    kindOf(name),
    day(last_modified),
    until,
  ];
  const save = () => download({ id: name }).catch((error) => (problem.value = error.message));
  const content = apiUrl(pathOf(name).replace("/documents/", "/content/"));
  return html`<li aria-label=${shown}>
    <div class="document-name">
      ${why
        ? html`<span>${shown}</span>`
        : isOwn || sendsCredential // which a link would not send
        ? html`<button type="button" class="plain name" onClick=${save}>${shown}</button>`
        : html`<a href=${content} target="_blank" rel="noopener">${shown}</a>`}
      ${remove &&
      !isAsking.value &&
      html`<button type="button" class="plain" aria-label=${t("documents.deleteOne", { name: shown })} onClick=${() => (isAsking.value = true)}>${t("chats.delete")}</button>`}
    </div>
    <p class=${passages ? "quiet" : "warn"}>${facts.filter(Boolean).join(" · ")}</p>
    ${problem.value && html`<div class="bad" role="alert"><${ErrorText} text=${problem.value} /></div>`}
    ${why && html`<div class="bad"><${ErrorText} text=${why} /></div>`}
    ${left_out && html`<p class="warn">${t("documents.leftOut", { why: leftOut(left_out) })}</p>`}
    ${isAsking.value &&
    html`<p role="group" aria-label=${t("documents.deleteSure", { name: shown })}>
      ${t("documents.deleteIt")}${" "}
      <button type="button" onClick=${() => remove?.(name)}>${t("documents.forGood")}</button>${" "}
      <button type="button" class="plain" onClick=${() => (isAsking.value = false)}>${t("documents.keep")}</button>
    </p>`}
  </li>`;
}
