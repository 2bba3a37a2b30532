/** Adds the tabs 'Sources' and 'Thoughts'. */
import { html } from "../html.js";
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { selected } from "../state.js";
import { countCited, sourcesOf, thoughtsOf } from "./why.js";
import { t } from "../texts.js";

const NOTHING_YET = t("sources.ask");
const List = lazy(() => import("./list.js"), "panel.css");

/** While an answer is made, what was found is news; then only what it cites. @param {import("../types.js").Turn} turn */
const foundSoFar = (turn) => (["asking", "streaming"].includes(turn.status.value) ? sourcesOf(turn).length : 0);

rooms.tabs.push(
  {
    id: "sources",
    title: t("sources.title"),
    view: () => (selected.value ? html`<${List} />` : html`<p class="empty">${NOTHING_YET}</p>`),
    count: () => (selected.value ? countCited(selected.value) || foundSoFar(selected.value) : 0),
  },
  {
    id: "thoughts",
    title: t("thoughts.title"),
    view: lazy(() => import("./thoughts.js"), "panel.css"),
    count: () => (selected.value ? thoughtsOf(selected.value).length : 0),
  },
);
