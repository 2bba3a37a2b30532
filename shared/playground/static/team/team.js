/** The tab 'Team': the agents as lanes while they work, what each cost, how the team is defined, and batches. */
import { request } from "../api/http.js";
import { html, useEffect, useSignal } from "../html.js";
import { mode, overrides, selected } from "../state.js";
import { duration } from "../sources/duration.js";
import { lazy } from "../lazy.js";
import { STATES, lanesOf } from "./lanes.js";
import { t } from "../texts.js";

const Calls = lazy(() => import("../tools/calls.js"), "tools/tools.css");

/** @typedef {{ name: string, instructions: string, tools: string[], temperature: number | null, model: string | null }} Agent */
/** @typedef {{ team: { pattern: string, max_rounds: number }, agents: Agent[], patterns: string[], yaml: string }} Definition */

const FRAME_MS = 100;
/** @type {Record<string, string>} */
const PATTERNS = {
  concurrent: t("team.concurrent"),
  sequential: t("team.sequential"),
  group_chat: t("team.groupChat"),
  handoff: t("team.handoff"),
};

export function View() {
  const turn = selected.value;
  return html`
    ${turn && hasLanes(turn) ? html`<${Lanes} turn=${turn} />` : html`<p class="empty">${turn ? t("team.noAgents") : t("team.ask")} ${mode.value === "chat" ? t("team.choose") : ""}</p>`}
    <${Defined} />
  `;
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
            ${lane.problem && html`<p class="bad small">${lane.problem}</p>`}
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

function Defined() {
  const team = useSignal(/** @type {Definition | null} */ (null));
  const problem = useSignal("");
  useEffect(() => {
    const stop = new AbortController();
    request("/playground/team", { signal: stop.signal })
      .then((response) => response.json())
      .then(
        (read) => (team.value = read),
        (error) => {
          if (!stop.signal.aborted) problem.value = error.message;
        },
      );
    return () => stop.abort();
  }, []);
  if (problem.value) return html`<p class="notice bad" role="alert">${problem.value}</p>`;
  const defined = team.value;
  if (!defined) return html`<p class="quiet">${t("team.reading")}</p>`;
  const asked = String(overrides.value.team_pattern ?? "");
  /** @param {any} event */
  const choose = (event) => {
    const { team_pattern: _, ...others } = overrides.value;
    overrides.value = event.currentTarget.value ? { ...others, team_pattern: event.currentTarget.value } : others;
  };
  return html`
    <section class="defined" aria-label=${t("team.defined")}>
      <h2 class="kind">${t("team.the")}</h2>
      <label>${t("team.pattern")}
        <select value=${asked} onChange=${choose}>
          <option value="">${t("team.asDefined", { pattern: named(defined.team.pattern) })}</option>
          ${defined.patterns.filter((pattern) => pattern !== defined.team.pattern).map((pattern) => html`<option value=${pattern}>${named(pattern)}</option>`)}
        </select>
      </label>
      <p class="quiet small">${t("team.try", { pattern: PATTERNS[asked || defined.team.pattern] ?? "" })}</p>
      <details>
        <summary>${t("team.yaml", { n: defined.agents.length })}</summary>
        <pre class="yaml" tabindex="0">${defined.yaml}</pre>
      </details>
    </section>
  `;
}

/** @param {string} pattern */
const named = (pattern) => pattern.replace("_", " ");
