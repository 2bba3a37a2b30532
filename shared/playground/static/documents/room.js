/** The place of the documents page. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { t } from "../texts.js";

rooms.places.push({
  path: "/documents",
  title: t("documents.title"),
  icon: "files",
  view: lazy(() => import("./page.js"), "documents/documents.css"),
});
