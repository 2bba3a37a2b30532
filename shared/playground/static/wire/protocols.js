/** Every protocol of the app: how a question is put in it, and how the text of its answer is read. */
import { agUi } from "./ag_ui.js";
import { aiChat } from "./ai_chat.js";
import { aiSdk } from "./ai_sdk.js";
import { choices } from "./choices.js";
import { responses } from "./responses.js";
import { failureIn, Said } from "./said.js";
import { semanticKernel } from "./semantic_kernel.js";

/** @typedef {{ role: string, content: string }} Message */
/**
 * What to ask, and in which way.
 * @typedef {{ protocol: string, messages: Message[], overrides?: Record<string, unknown>, team: boolean, streamed: boolean }} Asked
 */
/**
 * Protocols whose bodies and records are alike. `pathOf` is there where clients use another path than that of
 * their protocol's name; `readRecord` reads one record of a stream, `readWhole` an answer that is one document.
 * @typedef {{
 *   names: string[],
 *   alwaysStreams?: boolean,
 *   pathOf?: (asked: Asked) => string | null,
 *   bodyOf: (asked: Asked) => unknown,
 *   readRecord: (said: Said, record: any) => void,
 *   readWhole: (said: Said, answer: any) => void,
 * }} Family
 */

/** @type {Family[]} */
const FAMILIES = [aiChat, choices, semanticKernel, responses, agUi, aiSdk];

/** By name. @type {Map<string, Family>} */
const BY_NAME = new Map(FAMILIES.flatMap((family) => family.names.map((name) => [name, family])));

/** Those that this page speaks. */
export const KNOWN = [...BY_NAME.keys()];

/** @param {string} protocol */
function familyOf(protocol) {
  const family = BY_NAME.get(protocol);
  if (!family) throw new RangeError(protocol);
  return family;
}

/** @param {string} protocol */
export const alwaysStreams = (protocol) => familyOf(protocol).alwaysStreams ?? false;

/**
 * The path below the app's URL, and the body as JSON.
 * @param {Asked} asked
 * @returns {{ path: string, body: string }}
 */
export function requestOf(asked) {
  const family = familyOf(asked.protocol);
  const mode = asked.team ? (asked.streamed ? "/multi-agent-chat/stream" : "/multi-agent-chat/batch") : "/chat";
  const usual = `/${asked.protocol}${mode}${asked.streamed && !asked.team ? "/stream" : ""}`;
  return { path: family.pathOf?.(asked) ?? usual, body: JSON.stringify(family.bodyOf(asked)) };
}

/** Reads the text of an answer, record by record. */
export class AnswerReader {
  #said = new Said();

  /** @param {string} protocol @param {boolean} streamed */
  constructor(protocol, streamed) {
    this.family = familyOf(protocol);
    this.streamed = streamed || alwaysStreams(protocol);
  }

  /** @param {string} data the JSON of a record, or of the whole answer. */
  read(data) {
    let parsed;
    try {
      parsed = JSON.parse(data);
    } catch {
      return; // `[DONE]`, or half a record at a cut connection
    }
    const failure = failureIn(parsed);
    if (failure) this.#said.failure = failure;
    else if (this.streamed) this.family.readRecord(this.#said, parsed);
    else this.family.readWhole(this.#said, parsed);
  }

  get text() {
    return this.#said.text;
  }

  /** The sentence of a failure; empty: none. */
  get failure() {
    return this.#said.failure;
  }
}
