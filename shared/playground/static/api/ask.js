/** Asks a question in AG-UI, and writes what comes into the turn, at most once a frame. */
import { batch, signal } from "../html.js";
import { isWorkbench } from "../about.js";
import { told } from "../error_text.js";
import { overrides } from "../state.js";
import { ApiError, apiUrl, request } from "./http.js";
import { readEvents } from "./sse.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").Exchange} Exchange */
/** @typedef {import("../types.js").AgentRun} AgentRun */
/** @typedef {import("../types.js").Problem} Problem */
/** @typedef {import("../types.js").ToolCall} ToolCall */

/** Bytes and messages of a request, as the app takes them; files may come on top. */
export const MOST_BODY = 1_048_576;
const MOST_WITH_FILES = 8 * MOST_BODY;
const MOST_MESSAGES = 1_000;
const MOST_RECORDS = 20_000;
const MOST_RAW = 8_000_000;
const MOST_TRIES = 100;
/** What the ids of an answer's messages begin with. */
const ANSWER_ID = /^msg-[0-9a-f]{32}/;
const PATHS = { chat: "/ag-ui", team: "/ag-ui/multi-agent-chat/stream" };
const CUT_OFF = t("ask.cutOff");

/**
 * Ask the question of a turn; resolves when the answer has ended in any way, and never rejects.
 * @param {Turn} turn
 * @param {Turn[]} before the turns that lead to it, oldest first.
 * @param {string} threadId
 * @param {AbortSignal} stop
 */
export async function ask(turn, before, threadId, stop) {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const init = { method: "POST", headers, body: bodyOf(turn, before, threadId) };
  const { reader, how } = await read(turn, PATHS[turn.mode], init, stop);
  if (isProblem(how) && how.code === "cut_off") await follow(turn, stop, how);
  else reader.end(how);
}

/**
 * Read the answer of a turn that was asked before; it goes on in the app, or is kept there. Resolves as `ask` does.
 * @param {Turn} turn
 * @param {AbortSignal} stop
 * @param {Problem} otherwise what to show if the app has nothing of it.
 */
export async function follow(turn, stop, otherwise) {
  const init = { method: "GET", headers: { accept: "text/event-stream" } };
  for (let tries = 1; ; tries += 1) {
    const { reader, how } = await read(turn, `/runs/${turn.run}/stream`, init, stop);
    const isAway = isProblem(how) && how.status === 0; // the app, or the way to it
    if (!isAway || tries === MOST_TRIES) return reader.end(isProblem(how) && how.status === 404 ? otherwise : how);
    turn.isCut.value = true;
    await pause(how.code === "cut_off" ? 1 : tries, stop);
  }
}

/** Stop the answer of a turn in the app, once it can be reached. What came of it is on the page.
 * @param {Turn} turn */
export async function stopRun(turn) {
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const error = await request(`/runs/${turn.run}`, { method: "DELETE" }).catch((error) => error);
    if (!(error instanceof ApiError && error.status === 0)) return; // it is stopped, or has ended before
    await pause(tries);
  }
}

/** Wait before the next try, longer each time; a signal ends that.
 * @param {number} tries @param {AbortSignal} [stop] */
const pause = (tries, stop) =>
  new Promise((resolve) => {
    setTimeout(resolve, 1000 * Math.min(tries, 5));
    stop?.addEventListener("abort", resolve, { once: true });
  });

/** @param {Problem | "stopped" | null} how @returns {how is Problem} */
const isProblem = (how) => how !== null && how !== "stopped";

/**
 * Send a request, and read its events into a turn.
 * @param {Turn} turn
 * @param {string} path
 * @param {{ method: string, headers: Record<string, string>, body?: string }} init
 * @param {AbortSignal} stop
 * @returns {Promise<{ reader: RunReader, how: Problem | "stopped" | null }>} how it ended; null: as the run has said.
 */
async function read(turn, path, init, stop) {
  const exchange = newExchange(path, init);
  turn.exchange.value = exchange;
  const reader = new RunReader(turn, exchange);
  try {
    const response = await request(path, { ...init, signal: stop });
    exchange.status.value = response.status;
    exchange.responseHeaders.value = [...response.headers];
    if (!response.body) throw new ApiError(CUT_OFF);
    reader.begin();
    for await (const events of readEvents(response.body)) {
      for (const event of events) reader.read(event);
      if (reader.hasEnded) break;
    }
    return { reader, how: reader.hasEnded ? null : problem(CUT_OFF, "cut_off") };
  } catch (error) {
    if (error instanceof ApiError) exchange.status.value = error.status;
    return { reader, how: stop.aborted ? "stopped" : problemOf(error) };
  }
}

/**
 * The body of a request: the question after as much of the conversation as has room, the newest first.
 * @param {Turn} turn
 * @param {Turn[]} before
 * @param {string} threadId
 */
function bodyOf(turn, before, threadId) {
  const asked = {
    threadId,
    runId: turn.run,
    protocolVersion: "1.0",
    messages: [{ id: `${turn.id}-q`, role: "user", content: contentOf(turn) }],
    state: {},
    tools: [],
    context: [],
    forwardedProps: { overrides: { suggest_followup_questions: true, show_progress: true, resumable: true, ...(isWorkbench ? overrides.value : {}) } },
  };
  let body = JSON.stringify(asked);
  let ofFiles = bytesOfFiles(turn);
  for (const earlier of before.toReversed()) {
    asked.messages = [...messagesOf(earlier), ...asked.messages];
    ofFiles += bytesOfFiles(earlier);
    const longer = JSON.stringify(asked);
    const size = new TextEncoder().encode(longer).length;
    if (asked.messages.length > MOST_MESSAGES || size > MOST_WITH_FILES || size - ofFiles > MOST_BODY) break;
    body = longer;
  }
  return body;
}

/** @param {Turn} turn */
const bytesOfFiles = ({ attachments }) => attachments.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);

/** An earlier question with its answer; nothing if it has none, or was refused.
 * @param {Turn} turn */
function messagesOf(turn) {
  const said = turn.agents.value.length ? turn.agents.value.map((agent) => agent.text.value) : [turn.text.value];
  const answers = said.filter((text) => text.trim());
  if (!answers.length || turn.error.value?.code === "content_filter") return [];
  const question = { id: `${turn.id}-q`, role: "user", content: contentOf(turn) };
  return [question, ...answers.map((content, index) => ({ id: `${turn.id}-${index}`, role: "assistant", content }))];
}

/** @param {Turn} turn */
function contentOf({ question, attachments }) {
  const sent = attachments.filter((file) => file.data);
  if (!sent.length) return question;
  return [
    { type: "text", text: question },
    ...sent.map((file) => ({
      type: file.type.startsWith("image/") ? "image" : "document",
      source: { type: "data", value: file.data, mimeType: file.type },
      metadata: { filename: file.name },
    })),
  ];
}

/**
 * @param {string} path
 * @param {{ method: string, headers: Record<string, string>, body?: string }} init
 * @returns {Exchange}
 */
function newExchange(path, { method, headers, body = "" }) {
  return {
    method,
    url: apiUrl(path),
    requestHeaders: Object.entries(headers),
    requestBody: body,
    status: signal(0),
    responseHeaders: signal([]),
    startedAt: performance.now(),
    records: signal([]),
    dropped: signal(0),
    endedAt: signal(0),
  };
}

/** @param {string} id @param {string} title @returns {ToolCall} */
const newCall = (id, title) => ({ id, title, agent: "", place: 0, arguments: "", state: "running", result: "", milliseconds: 0, consent: null });

/** @param {unknown} error @returns {Problem} */
function problemOf(error) {
  if (error instanceof ApiError) {
    return { message: error.message, code: error.code, status: error.status, retryAfter: error.retryAfter };
  }
  return problem(CUT_OFF, "cut_off");
}

/** @param {string} message @param {string} [code] @param {number} [retryAfter] @returns {Problem} */
const problem = (message, code = "", retryAfter = 0) => ({ message, code, status: 0, retryAfter });

/** Reads the events of a run into a turn. Text and records are written once a frame, since each write draws the page. */
class RunReader {
  /** Whether the run has said that it is over. */
  hasEnded = false;
  #isStopped = false;
  #text = "";
  #reasoning = "";
  /** @type {ToolCall[]} */
  #calls = [];
  /** @type {import("../types.js").WireRecord[]} */
  #records = [];
  #rawLength = 0;
  #dropped = 0;
  #retryAfter = 0;
  /** @type {import("../error_text.js").Told} */ #reason = {};
  #isWaiting = false;
  /** @type {Map<string, AgentRun>} by the ids of their messages and of their runs. */
  #agents = new Map();

  /** @param {Turn} turn @param {Exchange} exchange */
  constructor(turn, exchange) {
    this.turn = turn;
    this.exchange = exchange;
  }

  /** Begin with the first event: what was read of an answer before comes again. Its text stays until then. */
  begin() {
    const { turn } = this;
    batch(() => {
      for (const list of [turn.sources, turn.thoughts, turn.followups, turn.agents, turn.progress]) if (list.value.length) list.value = [];
      turn.reasoning.value = "";
      turn.isCut.value = false;
    });
  }

  #now() {
    return Math.round(performance.now() - this.exchange.startedAt);
  }

  /** @param {import("./sse.js").ServerSentEvent} event */
  read({ raw, data }) {
    this.#record(raw);
    let event;
    try {
      event = JSON.parse(data);
    } catch {
      return; // shown by the wire inspector; clients of AG-UI skip it too
    }
    this.#take(event);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    if (document.hidden) setTimeout(() => this.#write(), 250); // no frames are drawn
    else requestAnimationFrame(() => this.#write());
  }

  /**
   * Write what is left, and how it ended.
   * @param {Problem | "stopped" | null} how null: as the run has said.
   */
  end(how) {
    batch(() => {
      this.#write();
      const { turn, exchange } = this;
      exchange.endedAt.value = this.#now();
      turn.isCut.value = false;
      if (how && how !== "stopped") turn.error.value = how;
      if (how === null) turn.calls.value = this.#calls;
      const waits = turn.calls.value.some((call) => call.consent);
      turn.status.value = turn.error.value ? "failed" : how === "stopped" || this.#isStopped ? "stopped" : waits ? "waiting" : "done";
      if (!waits) turn.calls.value = turn.calls.value.map((call) => (call.state === "running" ? { ...call, state: "unknown" } : call));
      for (const agent of turn.agents.value) if (agent.state.value === "working") agent.state.value = "failed";
    });
  }

  #write() {
    batch(() => {
      this.#isWaiting = false;
      const { text } = this.turn;
      this.turn.reasoning.value = this.#reasoning;
      if (this.hasEnded || !text.value.startsWith(this.#text)) text.value = this.#text;
      if (this.#records.length !== this.exchange.records.value.length) this.exchange.records.value = [...this.#records];
      this.exchange.dropped.value = this.#dropped;
    });
  }

  /** @param {string} raw */
  #record(raw) {
    this.#rawLength += raw.length;
    if (this.#records.length < MOST_RECORDS && this.#rawLength < MOST_RAW) this.#records.push({ at: this.#now(), raw });
    else this.#dropped += 1;
  }

  /** @param {any} event */
  #take(event) {
    const { turn } = this;
    const agent = this.#agents.get(event.subagentRunId);
    switch (event.type) {
      case "REASONING_MESSAGE_CONTENT":
        this.#reasoning += event.delta;
        break;
      case "TEXT_MESSAGE_START":
        turn.status.value = "streaming";
        turn.answerId.value = ANSWER_ID.exec(event.messageId)?.[0] ?? "";
        if (agent) agent.messageId = event.messageId;
        break;
      case "TEXT_MESSAGE_CONTENT":
        if (agent) agent.text.value += event.delta;
        else this.#text += event.delta;
        break;
      case "SUBAGENT_STARTED":
        this.#startAgent(event);
        break;
      case "SUBAGENT_FINISHED":
      case "SUBAGENT_ERROR":
        if (agent) this.#endAgent(agent, event);
        break;
      case "TOOL_CALL_START":
        this.#calls = [...this.#calls, { ...newCall(event.toolCallId, event.toolCallName), agent: this.#callerOf(event.toolCallName), place: turn.agents.value.length }];
        this.#showCalls();
        break;
      case "TOOL_CALL_ARGS":
        this.#change(event.toolCallId, (call) => ({ arguments: call.arguments + event.delta }));
        break;
      case "TOOL_CALL_RESULT":
        this.#change(event.toolCallId, (call) => ({ result: event.content, state: call.state === "running" ? "done" : call.state }));
        break;
      case "CUSTOM":
        this.#takeCustom(event.name, event.value, agent);
        break;
      case "RUN_FINISHED":
        this.hasEnded = true;
        turn.usage.value = event.usage ?? [];
        turn.finishReason.value = event.result?.finish_reason ?? "";
        for (const asked of event.outcome?.interrupts ?? []) this.#askConsent(asked);
        break;
      case "RUN_ERROR":
        if (event.code === "begun_anew") break; // the stream ends here, and is read from its beginning
        this.hasEnded = true;
        this.#isStopped = event.code === "stopped"; // in another window
        if (!this.#isStopped) turn.error.value = problem(told(event.message, { code: event.code, retryAfter: this.#retryAfter, ...this.#reason }), event.code, this.#retryAfter);
        break;
    }
  }

  /** @param {string} name @param {any} value @param {AgentRun | undefined} agent */
  #takeCustom(name, value, agent) {
    const to = agent ?? this.turn;
    if (name === "sources") {
      to.sources.value = value.sources.flatMap((/** @type {any} */ source) => (source.passages ?? [source.text]).map((/** @type {string} */ text) => ({ ...source, text })));
    }
    if (name === "thoughts") to.thoughts.value = value.thoughts;
    else if (name === "tool_call") {
      this.#change(value.toolCallId, () => ({ agent: value.agent, state: value.status, milliseconds: value.milliseconds }));
    } else if (name === "retry_after") this.#retryAfter = value;
    else if (name === "reason") this.#reason = value;
    else if (name === "followup_questions") this.turn.followups.value = value;
    else if (name === "progress") this.turn.progress.value = [...this.turn.progress.value, { ...value, at: this.#now() }];
  }

  /** @param {string} id @param {(call: ToolCall) => Partial<ToolCall>} change */
  #change(id, change) {
    this.#calls = this.#calls.map((call) => (call.id === id ? { ...call, ...change(call) } : call));
    this.#showCalls();
  }

  /** Show the calls, unless they are fewer than those that were read before: these come again. */
  #showCalls() {
    if (this.#calls.length >= this.turn.calls.value.length) this.turn.calls.value = this.#calls;
  }

  /** The agent that has begun to call a tool, until the call's end tells. @param {string} title */
  #callerOf(title) {
    const news = this.turn.progress.value.findLast(({ state, tool }) => state === "calling" && tool === title.replace(".", "_"));
    return String(news?.agent ?? "");
  }

  /** @param {any} asked an interrupt. */
  #askConsent({ id, toolCallId, expiresAt, metadata }) {
    const { agent, server, tool, description, origins } = metadata;
    this.#change(toolCallId, () => ({ agent, state: "open", consent: { id, agent, server, tool, description, origins, expires: expiresAt } }));
  }

  /** @param {any} event */
  #startAgent(event) {
    /** @type {AgentRun} */
    const agent = {
      name: event.name,
      messageId: "",
      text: signal(""),
      state: signal(/** @type {"working" | "done" | "failed"} */ ("working")),
      sources: signal([]),
      thoughts: signal([]),
      error: signal(null),
      startedAt: this.#now(),
      endedAt: signal(0),
    };
    this.#agents.set(event.subagentRunId, agent);
    this.turn.status.value = "streaming";
    this.turn.agents.value = [...this.turn.agents.value, agent];
  }

  /** @param {AgentRun} agent @param {any} event */
  #endAgent(agent, event) {
    const failed = event.type === "SUBAGENT_ERROR";
    agent.endedAt.value = this.#now();
    agent.state.value = failed ? "failed" : "done";
    if (failed) agent.error.value = problem(told(event.message, { code: event.code }), event.code);
  }
}
