/** The place of the settings page. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";

rooms.places.push({
  path: "/settings",
  title: "Settings",
  view: lazy(() => import("./page.js"), "settings/settings.css"),
});
