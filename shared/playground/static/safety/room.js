/** Adds the tab 'Safety'. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { t } from "../texts.js";

rooms.tabs.push({ id: "safety", title: t("safety.title"), view: lazy(() => import("./safety.js"), "panel.css") });
