/** The reader's own documents, which nobody else sees, and how much room there is for more. */
import { ApiError, request } from "../api/http.js";
import { ErrorText } from "../error_text.js";
import { html, signal, useEffect, useSignal } from "../html.js";
import { FailedList, Row } from "./row.js";
import { UploadArea } from "./upload_area.js";
import { pathOf } from "./uploads.js";
import { sizeOf } from "./words.js";
import { day, rich, t } from "../texts.js";

/** @typedef {{ documents: number, bytes: number, pages: number }} Room */
/** @typedef {{ documents: import("./row.js").Listed[], failed: import("./row.js").Failed[], used: Room, limits: Room, kept_days: number | null }} Own */

const own = signal(/** @type {Own | null} */ (null));
const problem = signal("");

async function load() {
  try {
    own.value = await (await request("/documents/mine")).json();
    problem.value = "";
  } catch (error) {
    problem.value = error instanceof ApiError ? error.message : t("documents.unreadable");
  }
}

export function Mine() {
  useEffect(() => {
    load();
  }, []);
  return html`<section class="mine" aria-label=${t("mine.title")}>
    <h2>${t("mine.title")}</h2>
    <p class="quiet">${rich("mine.about")}</p>
    <${UploadArea} folder="mine" onDone=${load} />
    ${problem.value && html`<div class="bad" role="alert"><${ErrorText} text=${problem.value} /></div>`}
    ${own.value && html`<${Kept} own=${own.value} />`}
  </section>`;
}

/** @param {{ own: Own }} props */
function Kept({ own: { documents, failed, used, limits, kept_days } }) {
  const isAsking = useSignal(false);
  const room = t("mine.room", {
    n: used.documents,
    documents: limits.documents,
    size: sizeOf(used.bytes),
    bytes: sizeOf(limits.bytes),
    used: used.pages,
    pages: limits.pages,
  });
  const removeAll = () => {
    isAsking.value = false;
    remove("mine");
  };
  return html`
    <p class="quiet">${room}</p>
    ${failed.length > 0 && html`<${FailedList} failed=${failed} remove=${remove} isOwn />`}
    ${documents.length > 0 &&
    html`<ul class="document-list" aria-label=${t("mine.title")}>
      ${documents.map((one) => html`<${Row} key=${one.name} one=${one} remove=${remove} until=${untilOf(one.last_modified, kept_days)} isOwn />`)}
    </ul>`}
    ${documents.length > 1 &&
    (isAsking.value
      ? html`<p role="group" aria-label=${t("mine.sure")}>
          ${t("mine.sure")}${" "}
          <button type="button" onClick=${removeAll}>${t("documents.forGood")}</button>${" "}
          <button type="button" class="plain" onClick=${() => (isAsking.value = false)}>${t("mine.keep")}</button>
        </p>`
      : html`<button type="button" class="plain" onClick=${() => (isAsking.value = true)}>${t("mine.deleteAll")}</button>`)}
  `;
}

/** When a document goes by itself. @param {string} added @param {number | null} days */
function untilOf(added, days) {
  if (days === null) return "";
  const end = new Date(added);
  end.setDate(end.getDate() + days);
  return t("mine.until", { day: day(end.toISOString()) });
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
