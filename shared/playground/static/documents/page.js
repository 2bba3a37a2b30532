/** The documents page: what is indexed, and how more gets there. */
import { ApiError, apiUrl, request } from "../api/http.js";
import { ErrorText } from "../error_text.js";
import { html, signal, useEffect, useSignal } from "../html.js";
import { pathOf } from "./uploads.js";
import { UploadArea } from "./upload_area.js";
import { kindOf, sizeOf } from "./words.js";
import { day, t } from "../texts.js";

/** @typedef {{ name: string, type: string, size: number, last_modified: string, passages: number, pages: number | null, left_out: string }} Listed */

const listed = signal(/** @type {Listed[]} */ ([]));
const mayWrite = signal(false);
const following = signal(""); // the query of the next page; empty: there is none
const search = signal("");
const problem = signal("");
const isLoaded = signal(false);

let asked = 0;

/** @param {boolean} [more] the next page, below what is there. */
async function load(more = false) {
  const number = (asked += 1);
  const query = more ? following.value : `?${new URLSearchParams({ search: search.value })}`;
  try {
    const response = await request(`/documents${query}`);
    const { documents, may_write } = await response.json();
    if (number !== asked) return; // the reader has typed on
    listed.value = more ? [...listed.value, ...documents] : documents;
    mayWrite.value = may_write;
    following.value = /<(\?[^>]*)>/.exec(response.headers.get("link") ?? "")?.[1] ?? "";
    problem.value = "";
  } catch (error) {
    problem.value = error instanceof ApiError ? error.message : t("documents.unreadable");
  }
  isLoaded.value = true;
}

export function View() {
  useEffect(() => {
    load();
  }, []);
  const type = (/** @type {any} */ event) => {
    search.value = event.currentTarget.value;
    load();
  };
  return html`<div class="page documents">
    <h1>${t("documents.title")}</h1>
    ${mayWrite.value && html`<${UploadArea} onDone=${() => load()} />`}
    <label class="visually-hidden" for="document-search">${t("documents.searchLabel")}</label>
    <input id="document-search" type="search" placeholder=${t("documents.search")} value=${search.value} onInput=${type} />
    ${problem.value && html`<div class="bad" role="alert"><${ErrorText} text=${problem.value} /></div>`}
    <${List} />
    ${following.value && html`<button type="button" onClick=${() => load(true)}>${t("documents.more")}</button>`}
  </div>`;
}

function List() {
  if (!isLoaded.value) return html`<p class="empty">${t("documents.asking")}</p>`;
  if (!listed.value.length) {
    const why = search.value ? t("documents.noneFound") : t("documents.none");
    return html`<p class="empty">${why}</p>`;
  }
  return html`<ul class="document-list" aria-label=${t("documents.title")}>
    ${listed.value.map((one) => html`<${Row} key=${one.name} one=${one} />`)}
  </ul>`;
}

/** @param {{ one: Listed }} props */
function Row({ one }) {
  const isAsking = useSignal(false);
  const { name, size, last_modified, passages, pages, left_out } = one;
  const facts = [
    passages ? t("documents.passages", { n: passages }) : t("documents.notIndexed"),
    pages && pages > 1 ? t("documents.pages", { n: pages }) : "",
    sizeOf(size),
    kindOf(name),
    day(last_modified),
  ];
  const content = apiUrl(pathOf(name).replace("/documents/", "/content/"));
  return html`<li aria-label=${name}>
    <div class="document-name">
      <a href=${content} target="_blank" rel="noopener">${name}</a>
      ${mayWrite.value &&
      !isAsking.value &&
      html`<button type="button" class="plain" aria-label=${t("documents.deleteOne", { name })} onClick=${() => (isAsking.value = true)}>${t("chats.delete")}</button>`}
    </div>
    <p class=${passages ? "quiet" : "warn"}>${facts.filter(Boolean).join(" · ")}</p>
    ${left_out && html`<p class="warn">${t("documents.leftOut", { why: left_out })}</p>`}
    ${isAsking.value &&
    html`<p role="group" aria-label=${t("documents.deleteSure", { name })}>
      ${t("documents.deleteIt")}${" "}
      <button type="button" onClick=${() => remove(name)}>${t("documents.forGood")}</button>${" "}
      <button type="button" class="plain" onClick=${() => (isAsking.value = false)}>${t("documents.keep")}</button>
    </p>`}
  </li>`;
}

/** @param {string} name */
async function remove(name) {
  try {
    await request(pathOf(name), { method: "DELETE" });
    await load();
  } catch (error) {
    problem.value = error instanceof ApiError ? error.message : t("documents.notDeleted");
  }
}

