/** The place of the documents page. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";

rooms.places.push({
  path: "/documents",
  title: "Documents",
  view: lazy(() => import("./page.js"), "documents/documents.css"),
});
