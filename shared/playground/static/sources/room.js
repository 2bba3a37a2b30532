/** Adds the tabs 'Sources' and 'Thoughts'. */
import { html } from "../html.js";
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { selected } from "../state.js";
import { countCited, sourcesOf, thoughtsOf } from "./why.js";

const NOTHING_YET = "Ask a question: what the answer is made from is shown here.";
const List = lazy(() => import("./list.js"), "panel.css");

/** While an answer is made, what was found is news; then only what it cites. @param {import("../types.js").Turn} turn */
const foundSoFar = (turn) => (["asking", "streaming"].includes(turn.status.value) ? sourcesOf(turn).length : 0);

rooms.tabs.push(
  {
    id: "sources",
    title: "Sources",
    view: () => (selected.value ? html`<${List} />` : html`<p class="empty">${NOTHING_YET}</p>`),
    count: () => (selected.value ? countCited(selected.value) || foundSoFar(selected.value) : 0),
  },
  {
    id: "thoughts",
    title: "Thoughts",
    view: lazy(() => import("./thoughts.js"), "panel.css"),
    count: () => (selected.value ? thoughtsOf(selected.value).length : 0),
  },
);
