/** What the rooms share: the open chat, what of it is selected, and how to ask. */
import { computed, effect, signal } from "./html.js";
import { keep, kept } from "./storage.js";

/** @typedef {import("./types.js").Turn} Turn */
/** @typedef {import("./types.js").Mode} Mode */
/** @template T @typedef {import("./types.js").Signal<T>} Signal */

/** All turns of the open chat, with those of other branches, oldest first. @type {Signal<Turn[]>} */
export const allTurns = signal([]);

/** Which child of a turn is shown, by the parent's id; else its newest. @type {Signal<Record<string, string>>} */
export const chosen = signal({});

/** The turns of the open chat as they are shown: one branch. @type {{ readonly value: Turn[], peek(): Turn[] }} */
export const turns = computed(() => branchOf(allTurns.value, chosen.value));

/** The id of the turn that the reader has chosen for the panel. */
export const selectedId = signal("");

/** The turn that the panel shows: the chosen one, or the newest. @type {{ readonly value: Turn | null }} */
export const selected = computed(
  () => turns.value.find((turn) => turn.id === selectedId.value) ?? turns.value.at(-1) ?? null,
);

/** The source that is open in the panel, and the sentence whose citation opened it.
 * @type {Signal<{ source: import("./types.js").Source, turn: Turn, sentence?: string } | null>} */
export const openSource = signal(null);

/** Who answers the next question. @type {Signal<Mode>} */
export const mode = signal(/** @type {Mode} */ (kept("mode") === "team" ? "team" : "chat"));
effect(() => keep("mode", mode.value));

/** What requests send in `forwardedProps.overrides`. @type {Signal<Record<string, unknown>>} */
export const overrides = signal(readOverrides());
effect(() => keep("overrides", JSON.stringify(overrides.value)));

/** The last answer of `GET /health`; null: none yet. @type {Signal<any>} */
export const health = signal(null);

/** What there is to ask about, and who can be asked: names of agents, none if there is no team. Null: not read yet.
 * @type {Signal<{ topics: string[], documents: number | null, model: string | null, team: string[] } | null>} */
export const beginning = signal(null);

/** Whether `/` and `?` are shortcuts: speech input and some keyboards send single letters by themselves (WCAG 2.1.4). */
export const singleKeys = signal(kept("singleKeys") !== "off");
effect(() => keep("singleKeys", singleKeys.value ? null : "off"));

/** The turns that follow a turn, each another branch.
 * @param {string} parent its id; empty: the first turns. */
export const childrenOf = (parent) => allTurns.value.filter((turn) => turn.parent === parent);

/** One branch of a chat. @param {Turn[]} all @param {Record<string, string>} which as in `chosen`. */
export function branchOf(all, which) {
  const path = [];
  const next = (/** @type {string} */ parent) => {
    const children = all.filter((turn) => turn.parent === parent);
    return children.find((turn) => turn.id === which[parent]) ?? children.at(-1);
  };
  for (let one = next(""); one; one = next(one.id)) path.push(one);
  return path;
}

/** @returns {Record<string, unknown>} */
function readOverrides() {
  try {
    const read = JSON.parse(kept("overrides") ?? "{}");
    return typeof read === "object" && read !== null && !Array.isArray(read) ? read : {};
  } catch {
    return {};
  }
}

/**
 * A turn without an answer.
 * @param {{ question: string, parent?: string, mode?: Mode, attachments?: import("./types.js").Attachment[], id?: string, run?: string }} asked
 * @returns {Turn}
 */
export function newTurn({ question, parent = "", mode: who = mode.peek(), attachments = [], id = crypto.randomUUID(), run = crypto.randomUUID() }) {
  return {
    id,
    parent,
    mode: who,
    question,
    attachments,
    run,
    status: signal(/** @type {import("./types.js").Status} */ ("asking")),
    isCut: signal(false),
    text: signal(""),
    reasoning: signal(""),
    sources: signal([]),
    thoughts: signal([]),
    followups: signal([]),
    usage: signal([]),
    finishReason: signal(""),
    error: signal(null),
    agents: signal([]),
    calls: signal([]),
    answerId: signal(""),
    verdict: signal(null),
    progress: signal([]),
    exchange: signal(null),
  };
}
