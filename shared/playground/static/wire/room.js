/** The tab and the page of the wire inspector. */
import { html } from "../html.js";
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { selected } from "../state.js";

rooms.tabs.push({
  id: "wire",
  title: "Wire",
  view: lazy(() => import("./inspector.js"), "wire/wire.css"),
  count: () => selected.value?.exchange.value?.records.value.length ?? 0,
});
rooms.places.push({ path: "/compare", title: "Compare", view: lazy(() => import("./compare.js"), "wire/wire.css") });
