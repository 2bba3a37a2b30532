/** The documents page: what is indexed, and how more gets there. */
import { ApiError, request } from "../api/http.js";
import { ErrorText } from "../error_text.js";
import { isWorkbench } from "../about.js";
import { html, signal, useEffect } from "../html.js";
import { Mine } from "./mine.js";
import { FailedList, Row } from "./row.js";
import { UploadArea } from "./upload_area.js";
import { pathOf } from "./uploads.js";
import { t } from "../texts.js";

/** @typedef {import("./row.js").Listed} Listed */

const listed = signal(/** @type {Listed[]} */ ([]));
const failed = signal(/** @type {import("./row.js").Failed[]} */ ([]));
const mayWrite = signal(false);
const whyNoOwn = signal(/** @type {string | null} */ ("")); // null: the reader can have documents of their own
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
    const { documents, failed: unread, may_write, why_no_own } = await response.json();
    if (number !== asked) return; // the reader has typed on
    listed.value = more ? [...listed.value, ...documents] : documents;
    if (!more) failed.value = unread;
    mayWrite.value = may_write;
    whyNoOwn.value = why_no_own;
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
    ${whyNoOwn.value === null && html`<${Mine} /><h2>${t("mine.shared")}</h2>`}
    ${mayWrite.value && html`<${UploadArea} onDone=${() => load()} />`}
    <label class="visually-hidden" for="document-search">${t("documents.searchLabel")}</label>
    <input id="document-search" type="search" placeholder=${t("documents.search")} value=${search.value} onInput=${type} />
    ${problem.value && html`<div class="bad" role="alert"><${ErrorText} text=${problem.value} /></div>`}
    ${failed.value.length > 0 && html`<${FailedList} failed=${failed.value} remove=${mayWrite.value ? remove : null} />`}
    <${List} />
    ${following.value && html`<button type="button" onClick=${() => load(true)}>${t("documents.more")}</button>`}
    ${isWorkbench && whyNoOwn.value && html`<p class="quiet"><strong>${t("mine.title")}:</strong> ${whyNoOwn.value}</p>`}
  </div>`;
}

function List() {
  if (!isLoaded.value) return html`<p class="empty">${t("documents.asking")}</p>`;
  if (!listed.value.length) {
    const why = search.value ? t("documents.noneFound") : t("documents.none");
    return html`<p class="empty">${why}</p>`;
  }
  return html`<ul class="document-list" aria-label=${t("documents.title")}>
    ${listed.value.map((one) => html`<${Row} key=${one.name} one=${one} remove=${mayWrite.value ? remove : null} />`)}
  </ul>`;
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

