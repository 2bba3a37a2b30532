/** Adds the tab 'Safety'. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";

rooms.tabs.push({ id: "safety", title: "Safety", view: lazy(() => import("./safety.js"), "panel.css") });
