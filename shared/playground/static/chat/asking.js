/** What a reader does with a chat: ask, stop, ask again, ask otherwise. */
import { batch, effect, signal } from "../html.js";
import { ask, follow, stopRun } from "../api/ask.js";
import { place } from "../shell.js";
import { allTurns, chosen, mode, newTurn, selectedId, turns } from "../state.js";
import { keepAnswer, keepQuestion, readChat, sessionOf, startChat, writeTitle } from "./kept.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").Attachment} Attachment */

/** The id of the open chat in the history; empty: it is new, or none is kept. */
export const chatId = signal("");
/** Whether the open chat is being read. */
export const isOpening = signal(false);
/** Why the chat of the address cannot be shown. */
export const openProblem = signal("");

let threadId = sessionOf(crypto.randomUUID());
/** Resolves when the open chat is in the history. @type {Promise<string> | null} */
let started = null;
/** The answers that are being written, in the open chat and in others. @type {Map<string, { turn: Turn, stopper: AbortController }>} */
const running = new Map();

/** @param {Turn} turn */
export const isRunning = (turn) => turn.status.value === "asking" || turn.status.value === "streaming";

/**
 * Ask a question, after the last turn that is shown unless another is named.
 * @param {string} question
 * @param {Attachment[]} [attachments]
 * @param {string} [parent] the id of the turn before; empty: none.
 */
export function send(question, attachments = [], parent = turns.peek().at(-1)?.id ?? "") {
  start(newTurn({ question, attachments, parent }));
}

/** Ask the question of a turn again: in its place if it has no whole answer, else beside it.
 * @param {Turn} turn */
export function retry(turn) {
  const { question, attachments, parent } = turn;
  const isBeside = turn.status.peek() === "done";
  start(newTurn({ question, attachments, parent, mode: mode.peek(), ...(isBeside ? {} : { id: turn.id }) }));
}

/** @param {Turn} turn */
export function stop(turn) {
  running.get(turn.id)?.stopper.abort();
  stopRun(turn);
}

/** End a turn that waits for consent, since its reader asks something else: the app then does not do what it asked for.
 * @param {Turn} turn */
function leave(turn) {
  turn.calls.value = turn.calls.value.map((call) => (call.consent ? { ...call, state: "abandoned", consent: null } : call));
  turn.status.value = "stopped";
  keepAnswer(chatId.peek(), turn);
}

/** Show another branch.
 * @param {Turn} turn the turn to show in place of its neighbour. */
export const show = (turn) => (chosen.value = { ...chosen.value, [turn.parent]: turn.id });

/** Begin a chat. */
export function newChat() {
  open("", []);
  if (place.peek() !== "/") location.hash = "#/";
}

/** @param {Turn} turn */
async function start(turn) {
  for (const other of allTurns.peek()) if (other.status.peek() === "waiting") leave(other);
  batch(() => {
    const others = allTurns.value.filter((other) => other.id !== turn.id);
    allTurns.value = [...others, turn];
    chosen.value = { ...chosen.value, [turn.parent]: turn.id };
    selectedId.value = "";
  });
  const stopper = new AbortController();
  running.set(turn.id, { turn, stopper });
  started ??= chatId.peek() ? Promise.resolve(chatId.peek()) : begin(turn);
  const chat = started;
  const asked = chat.then((id) => keepQuestion(id, turn));
  const before = turns.peek().slice(0, -1);
  await ask(turn, before, threadId, stopper.signal);
  running.delete(turn.id);
  await asked;
  if (turn.status.peek() === "waiting") return;
  await keepAnswer(await chat, turn);
  if (!before.length && allTurns.peek().length === 1) writeTitle(await chat, turn);
}

/** Go on with an answer that the app makes, or has made, since it was asked for by a page that is gone.
 * @param {string} chat
 * @param {Turn} turn
 * @param {import("../types.js").Problem} unanswered */
async function resume(chat, turn, unanswered) {
  const stopper = new AbortController();
  running.set(turn.id, { turn, stopper });
  turn.error.value = null;
  turn.status.value = "asking";
  await follow(turn, stopper.signal, unanswered);
  running.delete(turn.id);
  if (turn.status.peek() !== "waiting") await keepAnswer(chat, turn);
}

/** Go on with a turn that has waited for consent: all that it waited for is decided.
 * @param {Turn} turn */
export const goOn = (turn) => resume(chatId.peek(), turn, { message: t("tools.gone"), code: "gone", status: 404, retryAfter: 0 });

/** Start the chat in the history, and let the address name it.
 * @param {Turn} turn its first.
 * @returns {Promise<string>} its id; empty: it is not kept. */
async function begin(turn) {
  const id = await startChat(turn.mode);
  if (!allTurns.peek().includes(turn)) return id; // another chat was opened meanwhile
  if (!id) started = null;
  chatId.value = id;
  if (id && place.peek() === "/") {
    history.replaceState(null, "", `#/chat/${id}`);
    place.value = `/chat/${id}`;
  }
  return id;
}

/** @param {string} id @param {Turn[]} read */
function open(id, read) {
  batch(() => {
    allTurns.value = read;
    chosen.value = {};
    selectedId.value = "";
    chatId.value = id;
    openProblem.value = "";
  });
  threadId = sessionOf(id || crypto.randomUUID());
  started = null;
}

/** The chat that the address names is the open one. */
effect(() => {
  const id = /^\/chat\/([^/]+)$/.exec(place.value)?.[1] ?? "";
  if (place.value !== "/" && !id) return; // another page: the chat waits
  if (id === chatId.peek()) return;
  open(id, []);
  if (id) read(id);
});

/** @param {string} id */
async function read(id) {
  isOpening.value = true;
  try {
    const found = await readChat(id);
    if (chatId.peek() !== id) return;
    allTurns.value = found.map((turn) => running.get(turn.id)?.turn ?? turn);
    if (found.length) mode.value = found.at(-1)?.mode ?? "chat";
    for (const turn of allTurns.value) {
      const unanswered = turn.error.value;
      if (unanswered?.code === "unanswered" && turn.run) resume(id, turn, unanswered);
    }
  } catch (error) {
    if (chatId.peek() === id) openProblem.value = error instanceof Error ? error.message : String(error);
  } finally {
    if (chatId.peek() === id) isOpening.value = false;
  }
}

/** Read the chat of the address again. */
export const reopen = () => {
  openProblem.value = "";
  read(chatId.peek());
};
