/** What is compared: one question, and two ways to send it. */
import { effect, signal } from "../html.js";
import { overrides } from "../state.js";
import { alwaysStreams, AnswerReader } from "./protocols.js";
import { send } from "./send.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("./protocols.js").Message} Message */
/** @typedef {import("./send.js").Run} Run */
/** @template T @typedef {import("../types.js").Signal<T>} Signal */
/** @typedef {{ id: string, protocol: Signal<string>, streamed: Signal<boolean>, run: Signal<Run | null> }} Side */

/** @type {[Side, Side]} */
export const sides = [newSide("left", "ag-ui"), newSide("right", "openai")];
export const question = signal("");
export const isTeam = signal(false);
/** What was said before the question. @type {Signal<Message[]>} */
export const before = signal([]);

let stop = new AbortController();

/** @param {string} id @param {string} protocol @returns {Side} */
function newSide(id, protocol) {
  return { id, protocol: signal(protocol), streamed: signal(true), run: signal(null) };
}

/**
 * Send the question of a turn again in another protocol, beside the answer that it has.
 * @param {Turn} turn
 * @param {string} protocol
 */
export function compareTurn(turn, protocol) {
  const [left, right] = sides;
  const exchange = turn.exchange.value;
  question.value = turn.question;
  isTeam.value = turn.mode === "team";
  before.value = exchange ? messagesIn(exchange.requestBody).slice(0, -1) : [];
  left.protocol.value = "ag-ui";
  left.streamed.value = true;
  right.protocol.value = protocol;
  stop.abort();
  stop = new AbortController();
  left.run.value = exchange ? runOf(turn) : begin(left);
  right.run.value = begin(right);
  location.hash = "#/compare";
}

/** Send the question as both sides say. */
export function askBoth() {
  stop.abort();
  stop = new AbortController();
  for (const side of sides) side.run.value = begin(side);
}

/** @param {Side} side @returns {Run} */
function begin({ protocol: { value: protocol }, streamed }) {
  const messages = [...before.value, { role: "user", content: question.value }];
  const asked = {
    protocol,
    messages,
    overrides: Object.keys(overrides.value).length ? overrides.value : undefined,
    team: isTeam.value,
    streamed: streamed.value || alwaysStreams(protocol),
  };
  return send(asked, stop.signal);
}

/** The run of a turn that has been asked. @param {Turn} turn @returns {Run} */
function runOf(turn) {
  const exchange = /** @type {import("../types.js").Exchange} */ (turn.exchange.value);
  const run = { exchange, text: signal(""), failure: signal(""), isDone: signal(false) };
  const reader = new AnswerReader("ag-ui", true);
  let seen = 0;
  const end = effect(() => {
    const records = exchange.records.value;
    for (; seen < records.length; seen += 1) reader.read((records[seen]?.raw ?? "").replace(/^data: ?/, ""));
    run.text.value = reader.text;
    run.failure.value = reader.failure;
    run.isDone.value = exchange.endedAt.value > 0;
    if (run.isDone.value) queueMicrotask(() => end());
  });
  return run;
}

/** The messages of a body in AG-UI, without their files. @param {string} body @returns {Message[]} */
function messagesIn(body) {
  const { messages } = JSON.parse(body);
  return messages.map((/** @type {any} */ { role, content }) => ({ role, content: textOf(content) }));
}

/** @param {any} content */
function textOf(content) {
  if (typeof content === "string") return content;
  return content.filter((/** @type {any} */ part) => part.type === "text").map((/** @type {any} */ part) => part.text).join("\n");
}
