/** What the agents of a team do and did, as lanes over time. */
import { t } from "../texts.js";

/** @typedef {import("../types.js").Turn} Turn */
/**
 * @typedef {{ state: string, from: number, to: number, query: string }} Stretch milliseconds since the question was sent.
 * @typedef {{
 *   name: string, stretches: Stretch[], state: string, query: string, handedTo: string, tokens: number,
 *   milliseconds: number, problem: string,
 * }} Lane
 */

/** What each state is called. @type {Record<string, string>} */
export const STATES = {
  waiting: t("team.waits"),
  thinking: t("team.thinks"),
  searching: t("team.searches"),
  calling: t("team.calls"),
  writing: t("team.writes"),
  done: t("team.done"),
  failed: t("turn.failed"),
  handed_over: t("team.handedOver"),
  unused: t("team.unused"),
  open: t("tools.open"),
};
const ENDED = new Set(["done", "failed", "handed_over"]);

/**
 * The lanes of a turn, in the order in which the agents were told of.
 * @param {Turn} turn
 * @param {number} now milliseconds since the question was sent.
 * @returns {Lane[]}
 */
export function lanesOf(turn, now) {
  /** @type {Map<string, Lane>} */
  const lanes = new Map();
  const laneOf = (/** @type {string} */ name) => {
    const found = lanes.get(name) ?? { name, stretches: [], state: "waiting", query: "", handedTo: "", tokens: 0, milliseconds: 0, problem: "" };
    lanes.set(name, found);
    return found;
  };
  for (const news of turn.progress.value) {
    if (news.kind !== "agent") continue;
    const lane = laneOf(String(news.agent));
    end(lane, news.at);
    lane.state = String(news.state);
    if (typeof news.query === "string") lane.query = news.query;
    if (ENDED.has(lane.state)) {
      lane.tokens += Number(/** @type {any} */ (news.usage)?.totalTokens) || 0;
      lane.milliseconds += Number(news.milliseconds) || 0;
      lane.handedTo = typeof news.to === "string" ? news.to : "";
      lane.problem = typeof news.error === "string" ? news.error : "";
    } else {
      lane.stretches.push({ state: lane.state, from: news.at, to: now, query: String(news.query ?? "") });
    }
  }
  const isOver = !["asking", "streaming", "waiting"].includes(turn.status.value);
  for (const agent of turn.agents.value) {
    const lane = laneOf(agent.name);
    if (agent.state.value === "failed") lane.state = "failed"; // the guard may have withheld what the agent has said
    if (agent.error.value) lane.problem = agent.error.value.message;
  }
  for (const call of turn.calls.value) if (call.consent) laneOf(call.agent).state = "open";
  for (const lane of lanes.values()) {
    if (isOver && lane.stretches.every((stretch) => stretch.state === "waiting") && lane.state === "waiting") lane.state = "unused";
  }
  return [...lanes.values()];
}

/** @param {Lane} lane @param {number} at */
function end(lane, at) {
  const last = lane.stretches.at(-1);
  if (last && !ENDED.has(lane.state)) last.to = at;
}
