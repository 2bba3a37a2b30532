/** The place of the settings page. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { t } from "../texts.js";

rooms.places.push({
  path: "/settings",
  title: t("settings.title"),
  icon: "settings",
  view: lazy(() => import("./page.js"), "settings/settings.css"),
});
