/** The chats in the app's history: each turn is written when it is asked and when it is answered. */
import { signal } from "../html.js";
import { about } from "../about.js";
import { apiUrl, request } from "../api/http.js";
import { newTurn } from "../state.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").Source} Source */
/** @typedef {{ id: string, title: string, lastMessage: string, lastUpdated: string, mode: string, pinned?: true, found?: string }} Chat */

/** The caller's chats that were read, with all that are pinned; null: not read yet. @type {import("../types.js").Signal<Chat[] | null>} */
export const chats = signal(null);
/** Why chats are not kept or not listed. */
export const keepProblem = signal("");
/** Where the next page of chats is; empty: there is none. */
export const more = signal("");

/** The chats that have the words searched for; null: nothing is searched for. @type {import("../types.js").Signal<Chat[] | null>} */
export const foundChats = signal(null);
export const isSearching = signal(false);
const MOST_FOUND = 50;
let searches = 0;

const UNANSWERED = t("chats.unanswered");

/** The thread of a chat on the wire. A session id tells the app that this page keeps the chat itself.
 * @param {string} id a UUID. */
export const sessionOf = (id) => `${id.slice(0, 14)}8${id.slice(15)}`;

/** Read the list of chats, or its next page.
 * @param {string} [query] */
export async function listChats(query = "?limit=100") {
  await told(async () => {
    const [response, before] = await Promise.all([request(`/chat-history${query}`), query.includes("cursor") ? (chats.peek() ?? []) : pinnedChats()]);
    const found = [...before, ...(await response.json())];
    chats.value = [...new Map(found.map((chat) => [chat.id, chat])).values()];
    more.value = nextOf(response);
  });
}

/** Those that are pinned, however old they are. @returns {Promise<Chat[]>} */
const pinnedChats = async () => (await request("/chat-history?pinned=true")).json();

/** Search all chats for words in their titles and texts: the app looks at so many a page, and says where the next begins.
 * @param {string} words empty: search for nothing. */
export async function searchChats(words) {
  const search = (searches += 1);
  foundChats.value = words ? [] : null;
  isSearching.value = Boolean(words);
  let query = words && `?limit=${MOST_FOUND}&search=${encodeURIComponent(words)}`;
  await told(async () => {
    while (query && (foundChats.peek()?.length ?? 0) < MOST_FOUND) {
      const response = await request(`/chat-history${query}`);
      const found = await response.json();
      if (search !== searches) return;
      foundChats.value = [...(foundChats.peek() ?? []), ...found];
      query = nextOf(response);
    }
  });
  if (search === searches) isSearching.value = false;
}

/** Where the next page of a list is; empty: there is none. @param {Response} response */
export const nextOf = (response) => /<(\?[^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1] ?? "";

/** @param {import("../types.js").Mode} mode
 * @returns {Promise<string>} the id; empty: it could not be started, and `keepProblem` says why. */
export async function startChat(mode) {
  const kind = mode === "team" ? "multiAgent" : "standard";
  const made = await told(() => sent("/chat-history", "POST", { mode: kind, elsewhere: true }));
  return made?.id ?? "";
}

/** @param {string} chat @param {Turn} turn */
export const keepQuestion = (chat, turn) => keepMessages(chat, [questionOf(turn)]);

/** @param {string} chat @param {Turn} turn */
export const keepAnswer = (chat, turn) => (keeping = keeping.then(() => keepMessages(chat, answersOf(turn))));
/** One after the other: of two writes of an answer, the later one has the verdict. @type {Promise<void>} */
export let keeping = Promise.resolve();

/** @param {string} id @param {string} title */
export const renameChat = (id, title) => told(async () => listed(await sent(`/chat-history/${id}`, "PUT", { title })));

const TITLE_TASK = "### Task:\nWrite a title of at most six words for this chat, in the language of its question. Reply with the title alone.";
const LONGEST_TITLE = 80;

/** Have the model write the title of a chat that has its first answer; where it writes none, the title stays the question.
 * @param {string} id @param {Turn} turn */
export async function writeTitle(id, turn) {
  const titleNow = () => chats.peek()?.find((chat) => chat.id === id)?.title;
  const before = titleNow();
  const answer = turn.text.peek() || turn.agents.peek().at(-1)?.text.peek();
  if (about.quotes_only || !before || turn.status.peek() !== "done" || !answer) return;
  const content = `${TITLE_TASK}\n\nQuestion: ${turn.question.slice(0, 1000)}\n\nAnswer: ${answer.slice(0, 2000)}`;
  const made = await sent("/v1/chat/completions", "POST", { messages: [{ role: "user", content }], max_tokens: 500 }).catch(() => null);
  const [line = ""] = String(made?.choices?.[0]?.message?.content ?? "").trim().split("\n");
  const title = line.replace(/^["“”«»„「『*#\s]+|["“”«»「」』*.\s]+$/g, "");
  if (title && title.length <= LONGEST_TITLE && titleNow() === before) await renameChat(id, title);
}

/** @param {string} id @param {boolean} pinned */
export const pinChat = (id, pinned) => told(async () => listed(await sent(`/chat-history/${id}`, "PUT", { pinned })));

/** @param {string} id @returns {Promise<boolean>} whether it is gone. */
export async function deleteChat(id) {
  const response = await told(() => request(`/chat-history/${encodeURIComponent(id)}`, { method: "DELETE" }));
  for (const list of response ? [chats, foundChats] : []) list.value = list.value && list.value.filter((chat) => chat.id !== id);
  return Boolean(response);
}

/** Delete all chats of the caller. @returns {Promise<boolean>} whether they are gone. */
export async function deleteAllChats() {
  const response = await told(() => request("/chat-history", { method: "DELETE" }));
  if (response) [chats.value, foundChats.value, more.value] = [[], null, ""];
  return Boolean(response);
}

/** Read the turns of a chat. @param {string} id */
export const readChat = async (id) => turnsOf(await readMessages(id));

/** Read the messages of a chat as they are kept. @param {string} id @returns {Promise<any[]>} */
export const readMessages = async (id) => (await request(`/chat-history/${encodeURIComponent(id)}/messages`)).json();

/** The turns of a chat, also of one that another client has written. @param {any[]} messages */
export function turnsOf(messages) {
  /** @type {Turn[]} */
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push(questionRead(message, turns.at(-1)));
    else if (message.role === "assistant") {
      const own = message.context?.playground?.turn;
      const turn = turns.find((one) => one.id === own) ?? turns.at(-1);
      if (turn) answerRead(message, turn);
    }
  }
  return turns;
}

/** @param {string} chat @param {object[]} messages */
async function keepMessages(chat, messages) {
  if (chat && messages.length) await told(async () => listed(await sent(`/chat-history/${chat}`, "PUT", { messages })));
}

/** @template T @param {() => Promise<T>} work @returns {Promise<T | null>} null: it failed, and `keepProblem` says why. */
async function told(work) {
  try {
    const result = await work();
    keepProblem.value = "";
    return result;
  } catch (error) {
    keepProblem.value = error instanceof Error ? error.message : String(error);
    return null;
  }
}

/** @param {string} path @param {string} method @param {object} body */
async function sent(path, method, body) {
  const headers = { "content-type": "application/json" };
  return (await request(path, { method, headers, body: JSON.stringify(body) })).json();
}

/** @param {Chat} chat */
function listed(chat) {
  chats.value = [chat, ...(chats.value ?? []).filter((other) => other.id !== chat.id)];
  foundChats.value = foundChats.value && foundChats.value.map((other) => (other.id === chat.id ? chat : other));
}

/** @param {Turn} turn */
function questionOf({ id, parent, mode, question, attachments, run }) {
  const files = attachments.map(({ name, type, size }) => ({ name, type, size }));
  const timestamp = new Date().toISOString();
  return { id: `${id}-q`, role: "user", content: question, timestamp, context: { playground: { turn: id, parent, mode, files, run } } };
}

/** The messages of an answer; none: nothing came.
 * @param {Turn} turn */
function answersOf(turn) {
  const timestamp = new Date().toISOString();
  const status = turn.status.value;
  const finishReason = status === "stopped" ? status : status === "failed" ? turn.error.value?.code || "error" : turn.finishReason.value;
  const messages = turn.agents.value.length
    ? turn.agents.value.map((agent, index) => ({
        id: `${turn.id}-${index}`,
        content: agent.text.value,
        agentName: agent.name,
        agentIdentifier: agent.name,
        finishReason: agent.error.value?.code,
        context: contextOf(turn, agent.sources.value, agent.thoughts.value, index === 0),
      }))
    : [{ id: `${turn.id}-a`, content: turn.text.value, finishReason, context: contextOf(turn, turn.sources.value, turn.thoughts.value, true) }];
  return messages
    .filter((message) => message.content)
    .map((message) => ({ role: "assistant", timestamp, ...message, finishReason: message.finishReason === "stop" ? undefined : message.finishReason }));
}

/** The context of an answer in the shape of azure-search-openai-demo, whose page may open the chat as well.
 * @param {Turn} turn @param {Source[]} sources @param {import("../types.js").Thought[]} thoughts
 * @param {boolean} hasCalls whether the calls of tools are kept with it. */
function contextOf(turn, sources, thoughts, hasCalls) {
  return {
    data_points: {
      text: sources.map((source) => `${source.id}: ${source.text}`),
      images: [],
      citations: [...new Set(sources.map((source) => source.id))],
    },
    thoughts,
    followup_questions: turn.followups.value,
    playground: {
      turn: turn.id,
      calls: hasCalls && turn.calls.value.length ? turn.calls.value : undefined,
      answer: turn.answerId.value,
      verdict: turn.verdict.value,
    },
  };
}

/** @param {any} message @param {Turn | undefined} before @returns {Turn} */
function questionRead(message, before) {
  const own = message.context?.playground ?? {};
  const turn = newTurn({
    id: own.turn ?? message.id,
    parent: own.parent ?? before?.id ?? "",
    mode: own.mode === "team" ? "team" : "chat",
    question: message.content,
    attachments: (own.files ?? []).map((/** @type {any} */ file) => ({ ...file, data: "" })),
    run: typeof own.run === "string" ? own.run : "",
  });
  turn.status.value = "failed";
  turn.error.value = { message: UNANSWERED, code: "unanswered", status: 0, retryAfter: 0 };
  return turn;
}

/** @param {any} message @param {Turn} turn */
function answerRead(message, turn) {
  turn.status.value = message.finishReason === "stopped" ? "stopped" : "done";
  turn.error.value = null;
  if (Array.isArray(message.context?.playground?.calls)) turn.calls.value = message.context.playground.calls.map(callRead);
  turn.followups.value = message.context?.followup_questions ?? [];
  const { answer, verdict } = message.context?.playground ?? {};
  turn.answerId.value = String(answer ?? message.context?.answer_id ?? "");
  turn.verdict.value = verdict?.rating ? verdict : null;
  const sources = sourcesOf(message.context?.data_points);
  const thoughts = Array.isArray(message.context?.thoughts) ? message.context.thoughts : [];
  if (!message.agentName) {
    turn.text.value = message.content;
    turn.finishReason.value = message.finishReason ?? "stop";
    turn.sources.value = sources;
    turn.thoughts.value = thoughts;
    turn.reasoning.value = thoughts.find((/** @type {any} */ thought) => thought.title === "Reasoning")?.description ?? "";
    return;
  }
  turn.mode = "team";
  turn.agents.value = [
    ...turn.agents.value,
    {
      name: message.agentName,
      messageId: message.id,
      text: signal(message.content),
      state: signal(/** @type {"working" | "done" | "failed"} */ (message.finishReason ? "failed" : "done")),
      sources: signal(sources),
      thoughts: signal(thoughts),
      error: signal(null),
      startedAt: 0,
      endedAt: signal(0),
    },
  ];
}

/** @param {any} call @returns {import("../types.js").ToolCall} */
function callRead(call) {
  const text = (/** @type {string} */ key) => String(call?.[key] ?? "");
  const count = (/** @type {string} */ key) => Number(call?.[key]) || 0;
  return {
    id: text("id"),
    title: text("title"),
    agent: text("agent"),
    place: count("place"),
    arguments: text("arguments"),
    state: text("state"),
    result: text("result"),
    milliseconds: count("milliseconds"),
    consent: null,
  };
}

/** @param {any} points @returns {Source[]} */
function sourcesOf(points) {
  const texts = Array.isArray(points?.text) ? points.text : [];
  const names = Array.isArray(points?.citations) ? points.citations : [];
  return names.filter((/** @type {any} */ name) => typeof name === "string").flatMap((/** @type {string} */ id) => {
    const found = texts.filter((/** @type {any} */ one) => typeof one === "string" && one.startsWith(`${id}: `));
    const passages = found.map((/** @type {string} */ text) => text.slice(id.length + 2));
    return (passages.length ? passages : [""]).map((/** @type {string} */ text) => ({ id, title: id, url: linkTo(id), text }));
  });
}

/** @param {string} id */
function linkTo(id) {
  const [path = "", page] = id.split(/(#page=\d+)$/);
  return apiUrl(`/content/${path.split("/").map(encodeURIComponent).join("/")}${page ?? ""}`);
}
