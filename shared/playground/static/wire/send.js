/** Sends a question in any protocol, and keeps the exchange as it was on the wire. */
import { apiUrl, credentials } from "../api/http.js";
import { readEvents } from "../api/sse.js";
import { batch, signal } from "../html.js";
import { AnswerReader, requestOf } from "./protocols.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Exchange} Exchange */
/** @typedef {import("../types.js").WireRecord} WireRecord */
/** @template T @typedef {import("../types.js").Signal<T>} Signal */
/**
 * A question that was sent.
 * @typedef {{ exchange: Exchange, text: Signal<string>, failure: Signal<string>, isDone: Signal<boolean> }} Run
 */

const MOST_RECORDS = 20_000;
const MOST_RAW = 8_000_000;
const CUT_OFF = t("wire.cutOff");

/**
 * Send a question; the run fills as its answer arrives.
 * @param {import("./protocols.js").Asked} asked
 * @param {AbortSignal} stop
 * @returns {Run}
 */
export function send(asked, stop) {
  const { path, body } = requestOf(asked);
  /** @type {Exchange} */
  const exchange = {
    method: "POST",
    url: apiUrl(path),
    requestHeaders: [["content-type", "application/json"]],
    requestBody: body,
    status: signal(0),
    responseHeaders: signal([]),
    startedAt: performance.now(),
    records: signal([]),
    dropped: signal(0),
    endedAt: signal(0),
  };
  const run = { exchange, text: signal(""), failure: signal(""), isDone: signal(false) };
  const writer = new RunWriter(run, new AnswerReader(asked.protocol, asked.streamed));
  answer(exchange, writer, stop).then(
    () => writer.end(""),
    () => writer.end(stop.aborted ? t("wire.stopped") : navigator.onLine ? CUT_OFF : t("http.offline")),
  );
  return run;
}

/**
 * @param {Exchange} exchange
 * @param {RunWriter} writer
 * @param {AbortSignal} signal
 */
async function answer(exchange, writer, signal) {
  const { method, url, requestHeaders, requestBody: body } = exchange;
  const authorization = await credentials.authorization();
  const headers = [...requestHeaders, ...(authorization ? [["authorization", authorization]] : [])];
  const response = await fetch(url, { method, headers: /** @type {[string, string][]} */ (headers), body, signal });
  exchange.status.value = response.status;
  exchange.responseHeaders.value = [...response.headers];
  const type = response.headers.get("content-type") ?? "";
  if (!response.body) return;
  if (type.startsWith("text/event-stream")) {
    for await (const events of readEvents(response.body)) for (const { raw, data } of events) writer.add(raw, data);
  } else if (type.startsWith("application/json-lines") || type.startsWith("application/jsonl")) {
    for await (const line of linesOf(response.body)) writer.add(line, line);
  } else {
    const text = await response.text();
    writer.add(text, text);
  }
}

/** @param {ReadableStream<Uint8Array>} body @returns {AsyncGenerator<string>} the lines that are not empty. */
async function* linesOf(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      for (const line of lines) if (line.trim()) yield line;
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {}); // it is over, or nobody reads on
  }
}

/** Writes records and text into a run, at most once a frame, since each write draws the page. */
class RunWriter {
  /** @type {WireRecord[]} */
  #records = [];
  #rawLength = 0;
  #dropped = 0;
  #isWaiting = false;

  /** @param {Run} run @param {AnswerReader} reader */
  constructor(run, reader) {
    this.run = run;
    this.reader = reader;
  }

  #now() {
    return Math.round(performance.now() - this.run.exchange.startedAt);
  }

  /** @param {string} raw @param {string} data its JSON. */
  add(raw, data) {
    this.reader.read(data);
    this.#rawLength += raw.length;
    if (this.#records.length < MOST_RECORDS && this.#rawLength < MOST_RAW) this.#records.push({ at: this.#now(), raw });
    else this.#dropped += 1;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    if (document.hidden) setTimeout(() => this.#write(), 250); // no frames are drawn
    else requestAnimationFrame(() => this.#write());
  }

  /** @param {string} failure empty: the answer came to its end. */
  end(failure) {
    batch(() => {
      this.#write();
      if (failure) this.run.failure.value = failure;
      this.run.exchange.endedAt.value = this.#now();
      this.run.isDone.value = true;
    });
  }

  #write() {
    batch(() => {
      const { exchange, text, failure } = this.run;
      this.#isWaiting = false;
      text.value = this.reader.text;
      failure.value = this.reader.failure;
      if (this.#records.length !== exchange.records.value.length) exchange.records.value = [...this.#records];
      exchange.dropped.value = this.#dropped;
    });
  }
}
