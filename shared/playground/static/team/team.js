/** The tab 'Team': the agents as lanes while they work, and what each cost. */
import { withoutDetails } from "../error_text.js";
import { html, useEffect, useSignal } from "../html.js";
import { selected } from "../state.js";
import { duration } from "../sources/duration.js";
import { lazy } from "../lazy.js";
import { STATES, lanesOf } from "./lanes.js";
import { t } from "../texts.js";

const Calls = lazy(() => import("../tools/calls.js"), "tools/tools.css");

const FRAME_MS = 100;

export function View() {
  const turn = selected.value;
  if (turn && hasLanes(turn)) return html`<${Lanes} turn=${turn} />`;
  return html`<p class="empty">${t(turn ? "behind.none" : "behind.ask")}</p>`;
}

/** @param {import("../types.js").Turn} turn */
const hasLanes = (turn) => turn.agents.value.length > 0 || turn.progress.value.some((news) => news.kind === "agent");

/** @param {{ turn: import("../types.js").Turn }} props */
function Lanes({ turn }) {
  const isWorking = turn.status.value === "asking" || turn.status.value === "streaming";
  const now = useSignal(0);
  useEffect(() => {
    const exchange = turn.exchange.value;
    const tick = () => (now.value = exchange ? exchange.endedAt.value || performance.now() - exchange.startedAt : 0);
    tick();
    if (!isWorking) return;
    const timer = setInterval(tick, FRAME_MS);
    return () => clearInterval(timer);
  }, [turn, isWorking]);
  const last = turn.progress.value.at(-1)?.at ?? 0;
  const end = Math.max(now.value, last, 1);
  const lanes = lanesOf(turn, end);
  const tokens = lanes.reduce((sum, lane) => sum + lane.tokens, 0);
  return html`
    <ul class="lanes" aria-label=${t("team.agents")}>
      ${lanes.map(
        (lane) => html`
          <li class=${`lane ${lane.state}`}>
            <div class="lane-head">
              <strong>${lane.name}</strong>
              <span class="state">${lane.handedTo ? t("team.handedTo", { name: lane.handedTo }) : (STATES[lane.state] ?? lane.state)}</span>
              <span class="cost">
                ${lane.tokens ? html`<span>${t("team.tokens", { n: lane.tokens })}</span>` : null}
                ${lane.milliseconds ? html`<span>${duration(lane.milliseconds)}</span>` : null}
              </span>
            </div>
            <svg class="bar" viewBox=${`0 0 ${end} 8`} preserveAspectRatio="none" role="img" aria-label=${`${lane.name}: ${lane.stretches.map((stretch) => STATES[stretch.state] ?? stretch.state).join(", ")}`}>
              <rect class="track" width=${end} height="8" />
              ${lane.stretches.map((stretch) => html`<rect class=${`part ${stretch.state}`} x=${stretch.from} width=${Math.max(stretch.to - stretch.from, end / 150)} height="8" />`)}
            </svg>
            ${lane.query && html`<p class="quiet small">${t("team.query", { query: lane.query })}</p>`}
            <${CallsOf} turn=${turn} agent=${lane.name} />
            ${lane.problem && html`<p class="bad small">${withoutDetails(lane.problem)}</p>`}
          </li>
        `,
      )}
    </ul>
    <p class="legend quiet small">
      ${["waiting", "thinking", "searching", "writing"].map((state) => html`<span><span class=${`swatch ${state}`} aria-hidden="true"></span>${STATES[state]}</span>`)}
      <span>${duration(end)}${tokens ? `, ${t("team.tokensTogether", { n: tokens })}` : ""}</span>
    </p>
  `;
}

/** @param {{ turn: import("../types.js").Turn, agent: string }} props */
function CallsOf({ turn, agent }) {
  const calls = turn.calls.value.filter((call) => call.agent === agent);
  return calls.length > 0 && html`<${Calls} calls=${calls} />`;
}
