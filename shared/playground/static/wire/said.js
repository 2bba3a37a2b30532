/** Collects the text of an answer from its records, whatever the protocol: one text, or one for each agent. */
import { t } from "../texts.js";

export class Said {
  /** @type {Map<unknown, { name: string, text: string }>} in the order in which they began. */
  #messages = new Map();
  /** What the answer says of its failure; empty: it has not failed. */
  failure = "";

  /**
   * @param {unknown} text anything else than a text is none.
   * @param {{ key?: unknown, name?: unknown }} [of] which message, and who says it.
   */
  add(text, { key = 0, name } = {}) {
    const message = this.#messages.get(key) ?? { name: "", text: "" };
    this.#messages.set(key, message);
    if (typeof name === "string") message.name = name;
    if (typeof text === "string") message.text += text;
  }

  /** Whether agents have said it, and not the model alone. */
  get hasNames() {
    return [...this.#messages.values()].some((message) => message.name);
  }

  /** All of it, with the names of agents as the protocols without a key for them write these. */
  get text() {
    return [...this.#messages.values()]
      .filter(({ name, text }) => name || text)
      .map(({ name, text }) => (name ? `**${name}**\n\n${text}` : text))
      .join("\n\n");
  }
}

/**
 * The sentence of an error, in the shape of any protocol; empty: the record has none.
 * @param {any} record
 * @returns {string}
 */
export function failureIn(record) {
  if (record === null || typeof record !== "object") return "";
  const { error, type } = record;
  if (typeof error === "string") return error;
  if (typeof error?.message === "string") return error.message;
  if (type === "RUN_ERROR" || type === "error") return String(record.message ?? record.errorText ?? t("wire.failed"));
  return "";
}
