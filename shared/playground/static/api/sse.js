/** Reads server-sent events (HTML, 9.2.6), wherever the network has cut them. */

/** @typedef {{ raw: string, data: string, event: string }} ServerSentEvent `raw` has all of its lines. */

/**
 * Read the events of a body. One that no empty line ends is dropped, as the standard says.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<ServerSentEvent[]>} the events of each chunk, never none.
 */
export async function* readEvents(body) {
  const reader = body.getReader();
  const parser = new EventParser();
  const decoder = new TextDecoder(); // keeps the beginning of a character until its end comes
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const events = parser.feed(decoder.decode(value, { stream: !done }));
      if (events.length) yield events;
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {}); // it is over, or nobody reads on
  }
}

/** Turns text, cut anywhere, into events. */
export class EventParser {
  #rest = "";
  #afterReturn = false;
  /** @type {string[]} */
  #lines = [];

  /**
   * @param {string} text
   * @returns {ServerSentEvent[]} those that it completes.
   */
  feed(text) {
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1); // a CR LF that was cut in two
    if (text) this.#afterReturn = text.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    const events = [];
    for (const line of lines) {
      if (line) this.#lines.push(line);
      else {
        const event = eventOf(this.#lines);
        if (event) events.push(event);
        this.#lines = [];
      }
    }
    return events;
  }
}

/**
 * @param {string[]} lines
 * @returns {ServerSentEvent | null} null: it has no data, such as a comment that keeps the connection open.
 */
function eventOf(lines) {
  const data = [];
  let event = "message";
  for (const line of lines) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
  }
  return data.length ? { raw: lines.join("\n"), data: data.join("\n"), event } : null;
}
