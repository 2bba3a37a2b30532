/** Adds the tab 'Team'. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";

rooms.tabs.push({ id: "team", title: "Team", view: lazy(() => import("./team.js"), "panel.css") });
