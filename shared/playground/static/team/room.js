/** Adds the tab 'Team'. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { t } from "../texts.js";

rooms.tabs.push({ id: "team", title: t("team.title"), view: lazy(() => import("./team.js"), "panel.css") });
