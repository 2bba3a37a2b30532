/** Adds the tabs 'Sources' and 'Thoughts'. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { selected } from "../state.js";
import { sourcesOf, thoughtsOf } from "./why.js";

rooms.tabs.push(
  {
    id: "sources",
    title: "Sources",
    view: lazy(() => import("./list.js"), "panel.css"),
    count: () => (selected.value ? sourcesOf(selected.value).length : 0),
  },
  {
    id: "thoughts",
    title: "Thoughts",
    view: lazy(() => import("./thoughts.js"), "panel.css"),
    count: () => (selected.value ? thoughtsOf(selected.value).length : 0),
  },
);
