/** What sources are called: in the app, and by people. */
import { isWorkbench } from "../about.js";
import { t } from "../texts.js";

/**
 * The name of the file and the page of a source.
 * @param {string} id the source's name.
 */
export function placeOf(id) {
  const found = /^(.*)#page=(\d{1,6})$/su.exec(id);
  return found ? { name: found[1] ?? "", page: Number(found[2]) } : { name: id, page: 0 };
}

/** The name of a document as people say it: of its file, without folders and suffix. @param {string} name */
const titleOf = (name) => (name.split("/").at(-1) ?? name).replace(/\.[a-z0-9]{1,8}$/iu, "").replace(/[-_]+/g, " ") || name;

/** The name of a source with its page: the file's in the workbench, for readers as people say it. @param {string} id */
export function shownName(id) {
  const { name, page } = placeOf(id);
  const shown = isWorkbench ? name : titleOf(name);
  return page ? t("sources.nameAndPage", { name: shown, page: String(page) }) : shown;
}
