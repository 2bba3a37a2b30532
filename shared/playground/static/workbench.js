/** What the workbench has beside the page for readers: how an answer came about, and what was on the wire. */
import { lazy } from "./lazy.js";
import { rooms } from "./shell.js";
import { countCited, sourcesOf, thoughtsOf } from "./sources/why.js";
import { selected } from "./state.js";
import { t } from "./texts.js";

/** While an answer is made, what was found is news; then only what it cites. @param {import("./types.js").Turn} turn */
const foundSoFar = (turn) => (["asking", "streaming"].includes(turn.status.value) ? sourcesOf(turn).length : 0);

for (const tab of rooms.tabs) tab.count = () => (selected.value ? countCited(selected.value) || foundSoFar(selected.value) : 0);
rooms.tabs.push(
  {
    id: "thoughts",
    title: t("thoughts.title"),
    view: lazy(() => import("./sources/thoughts.js"), "panel.css"),
    count: () => (selected.value ? thoughtsOf(selected.value).length : 0),
  },
  { id: "team", title: t("team.title"), view: lazy(() => import("./team/team.js"), "panel.css") },
  { id: "safety", title: t("safety.title"), view: lazy(() => import("./safety/safety.js"), "panel.css") },
  {
    id: "wire",
    title: t("wire.title"),
    view: lazy(() => import("./wire/inspector.js"), "panel.css"),
    count: () => selected.value?.exchange.value?.records.value.length ?? 0,
  },
);
