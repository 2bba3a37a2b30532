/** Adds the tab 'Sources'. */
import { html } from "../html.js";
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { selected } from "../state.js";
import { t } from "../texts.js";

const List = lazy(() => import("./list.js"), "panel.css");

rooms.tabs.push({
  id: "sources",
  title: t("sources.title"),
  view: () => (selected.value ? html`<${List} />` : html`<p class="empty">${t("sources.ask")}</p>`),
});
