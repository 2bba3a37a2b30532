/** The tab and the page of the wire inspector. */
import { html } from "../html.js";
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { selected } from "../state.js";
import { t } from "../texts.js";

rooms.tabs.push({
  id: "wire",
  title: t("wire.title"),
  view: lazy(() => import("./inspector.js"), "wire/wire.css"),
  count: () => selected.value?.exchange.value?.records.value.length ?? 0,
});
rooms.places.push({ path: "/compare", title: t("compare.title"), view: lazy(() => import("./compare.js"), "wire/wire.css") });
