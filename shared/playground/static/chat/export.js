/** A chat as a file: Markdown of the branch that is shown, to read, or JSON of all that is kept of it. */
import { html, useRef, useSignal } from "../html.js";
import { ErrorText, withoutDetails } from "../error_text.js";
import { shownName } from "../sources/names.js";
import { numbered, reasonsOf } from "../sources/why.js";
import { branchOf, chosen } from "../state.js";
import { day, t } from "../texts.js";
import { chatId } from "./asking.js";
import { keeping, readMessages, turnsOf } from "./kept.js";

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("./kept.js").Chat} Chat */

const LONGEST_NAME = 80;
/** How long a browser has to begin with a file before its address is taken back. */
const KEPT_MS = 60_000;

/** What to export a chat as. @param {{ chat: Chat, title: string, close: () => void }} props */
export function View({ chat, title, close }) {
  const problem = useSignal("");
  const isReading = useRef(false);
  const save = async (/** @type {"md" | "json"} */ kind) => {
    if (isReading.current) return;
    isReading.current = true;
    try {
      await keeping; // of an answer that has just ended
      const messages = await readMessages(chat.id);
      if (kind === "md") download(markdownOf(chat, title, turnsOf(messages)), nameOf(title, kind), "text/markdown");
      else download(`${JSON.stringify({ ...chat, messages }, null, 2)}\n`, nameOf(title, kind), "application/json");
      close();
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
    isReading.current = false;
  };
  return html`
    <p>${t("chats.exportAs", { title })}</p>
    <button ref=${focused} onClick=${() => save("md")}>Markdown</button>
    <button onClick=${() => save("json")}>JSON</button>
    ${chatId.value === chat.id && html`<button onClick=${print}>${t("chats.print")}</button>`}
    <button onClick=${close}>${t("turn.cancel")}</button>
    ${problem.value && html`<div role="alert"><${ErrorText} text=${problem.value} /></div>`}
  `;
}

/** Opens the browser's own dialog, which can also save a PDF. */
const print = () => window.print();

/** @param {HTMLElement | null} element */
const focused = (element) => element?.focus();

/** @param {string} text @param {string} name @param {string} type */
function download(text, name, type) {
  const href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEPT_MS);
}

/** A name that every file system takes: letters, digits and the day. @param {string} title @param {string} kind */
function nameOf(title, kind) {
  const words = title.match(/[\p{L}\p{M}\p{N}]+/gu)?.join(" ") ?? "";
  const date = new Date().toLocaleDateString("sv"); // year, month and day
  return `${[...words].slice(0, LONGEST_NAME).join("").trim()} ${date}.${kind}`.trim();
}

/** @param {Chat} chat @param {string} title @param {Turn[]} turns */
function markdownOf(chat, title, turns) {
  return `${[`# ${escaped(title)}`, day(chat.lastUpdated), ...branchOf(turns, chosen.peek()).flatMap(partsOf)].join("\n\n")}\n`;
}

/** @param {Turn} turn */
function partsOf(turn) {
  const reasons = reasonsOf(turn);
  const cited = reasons.filter((why) => why.number);
  const others = reasons.filter((why) => !why.number);
  const answers = turn.agents.value.length
    ? turn.agents.value.map((agent) => ({ who: agent.name, text: agent.text.value }))
    : [{ who: t("turn.answer"), text: turn.text.value }];
  return [
    `## ${t("export.question")}`,
    quoted(turn.question),
    ...turn.attachments.map((file) => `- ${escaped(file.name)}`),
    ...answers.flatMap(({ who, text }) => [`## ${escaped(who)}`, numbered(text, turn, inBrackets)]),
    withoutDetails(turn.error.value?.message ?? ""),
    turn.status.value === "stopped" ? t("turn.stopped") : "",
    turn.status.value === "done" && turn.finishReason.value === "length" ? t("turn.tooLong") : "",
    cited.length ? `### ${t("sources.cited")}` : "",
    ...cited.map(({ source, number }) => `${number}. ${linkOf(source)}\n\n${indented(quoted(source.text))}`),
    others.length ? `### ${t(cited.length ? "sources.also" : "sources.uncited")}` : "",
    [...new Set(others.map(({ source }) => `- ${linkOf(source)}`))].join("\n"),
  ].filter((part) => part.trim());
}

/** Not `[1]`, which could be the label of a link. @param {number} number */
const inBrackets = (number) => `\\[${number}\\]`;

/** @param {import("../types.js").Source} source */
function linkOf(source) {
  const words = escaped(shownName(source.id));
  return source.file || !source.url ? words : `[${words}](<${new URL(source.url, document.baseURI).href}>)`;
}

/** A text of one line that means nothing in Markdown. @param {string} text */
const escaped = (text) => text.replace(/\s+/g, " ").replace(/[\\`*_[\]<>#&|~]/g, "\\$&");

/** @param {string} text */
const quoted = (text) => text.trim() && text.trim().replace(/</g, "\\<").replace(/^/gm, "> ").replace(/ +$/gm, "");

/** The text below an item of a list. @param {string} text */
const indented = (text) => text.replace(/^(?=.)/gm, "   ");
