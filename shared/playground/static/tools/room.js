/** The page of approvals. Its link is there once the page knows that agents act. */
import { lazy } from "../lazy.js";
import { rooms } from "../shell.js";
import { allTurns, health } from "../state.js";
import { t } from "../texts.js";

rooms.places.push({
  path: "/approvals",
  title: t("tools.title"),
  icon: "circle-check",
  view: lazy(() => import("./page.js"), "tools/tools.css"),
  isListed: () => Boolean(health.value?.parts?.tools) || allTurns.value.some((turn) => turn.calls.value.length > 0),
});
