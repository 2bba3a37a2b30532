/** The chat: the open conversation, and where the next question is written. */
import { about } from "../about.js";
import { request } from "../api/http.js";
import { html, signal, useEffect, useLayoutEffect, useRef, useSignal } from "../html.js";
import { ErrorText } from "../error_text.js";
import { Icon } from "../icon.js";
import { lazy } from "../lazy.js";
import { place, rooms } from "../shell.js";
import { health, turns } from "../state.js";
import { isOpening, isRunning, newChat, openProblem, reopen, retry, send, stop } from "./asking.js";
import { attach, Composer } from "./composer.js";
import { Conversations } from "./conversations.js";
import { Spoken } from "./spoken.js";
import { TurnView } from "./turn.js";
import { rich, t } from "../texts.js";

/** What there is to ask about. @type {import("../types.js").Signal<{ topics: string[], documents: number | null, model: string | null } | null>} */
const beginning = signal(null);
const NEAR_THE_END = 60;

rooms.places.push({ path: "/", title: "", view: ChatPage });
rooms.places.push({ path: "/shared/", title: "", view: lazy(() => import("./shared.js")) });
rooms.side.push(Conversations);

const SHORTCUTS = [
  ["Enter", t("chat.send")],
  ["Shift + Enter", t("chat.newLine")],
  ["/", t("chat.toQuestion")],
  ["Escape", t("chat.stopAnswer")],
  ["Alt + N", t("chat.begin")],
  ["Alt + R", t("chat.askAgain")],
  ["?", t("chat.showShortcuts")],
];

function ChatPage() {
  const isOver = useSignal(0);
  const help = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => shortcut(event, help.current);
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  /** @param {DragEvent} event */
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  return html`
    <div
      class=${`chat${isOver.value > 0 ? " dropping" : ""}`}
      onDragEnter=${(/** @type {DragEvent} */ event) => hasFiles(event) && (isOver.value += 1)}
      onDragLeave=${(/** @type {DragEvent} */ event) => hasFiles(event) && (isOver.value -= 1)}
      onDragOver=${(/** @type {DragEvent} */ event) => hasFiles(event) && event.preventDefault()}
      onDrop=${(/** @type {DragEvent} */ event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        isOver.value = 0;
        attach(event.dataTransfer?.files ?? []);
      }}
    >
      <h1 class="visually-hidden">${t("chat.title")}</h1>
      <${Conversation} />
      <${Spoken} />
      <div class="foot">
        <${Composer} />
        ${about.quotes_only && html`<p class="hint quiet"><${NoModel} /></p>`}
        <p class="hint quiet">${t("chat.canBeWrong")} <button class="plain" onClick=${() => help.current?.showModal()}>${t("chat.shortcuts")}</button></p>
      </div>
      <dialog ref=${help} aria-label=${t("chat.keyboard")}>
        <h2>${t("chat.keyboard")}</h2>
        <table><tbody>${SHORTCUTS.map(([keys, what]) => html`<tr><th scope="row"><kbd>${keys}</kbd></th><td>${what}</td></tr>`)}</tbody></table>
        <form method="dialog"><button class="primary">${t("shell.close")}</button></form>
      </dialog>
    </div>
  `;
}

/** Says that no language model answers, and how to connect one: that of this machine, if one is served here. */
function NoModel() {
  useEffect(() => {
    if (!health.peek()) request("/health").then(async (response) => (health.value = await response.json())).catch(() => {}); // the settings page tells why
  }, []);
  const line = health.value?.parts?.model?.start_with;
  return html`${line ? rich("chat.noModelHere", { line: html`<code>${line.replace(/^.*?: /, "")}</code>` }) : rich("chat.noModel")}`;
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLDialogElement | null} help
 */
function shortcut(event, help) {
  const last = turns.peek().at(-1);
  const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "Escape" && last && isRunning(last) && !help?.open) stop(last);
  else if (event.altKey && event.code === "KeyN") newChat();
  else if (event.altKey && event.code === "KeyR" && last && !isRunning(last)) retry(last);
  else if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  else if (event.key === "/") document.getElementById("question")?.focus();
  else if (event.key === "?") help?.showModal();
  else return;
  if (event.key !== "Escape") event.preventDefault();
}

/** The turns. It stays at its end while text comes, unless the reader has scrolled up. */
function Conversation() {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useRef(true);
  const hasNews = useSignal(false);
  const shown = useRef(0);
  const toEnd = () => {
    if (element.current) element.current.scrollTop = element.current.scrollHeight;
    isAtEnd.current = true;
    hasNews.value = false;
  };
  const onScroll = () => {
    const box = element.current;
    if (!box) return;
    isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_THE_END;
    if (isAtEnd.current) hasNews.value = false;
  };
  useEffect(() => {
    const inner = element.current?.firstElementChild;
    if (!inner) return undefined;
    // Whatever makes the text longer: tokens, late highlighting, images.
    const watched = new ResizeObserver(() => {
      const length = lengthOf(turns.peek().at(-1));
      if (isAtEnd.current && !element.current?.querySelector(".editor")) toEnd();
      else if (length > shown.current) hasNews.value = true;
      shown.current = length;
    });
    watched.observe(inner);
    return () => watched.disconnect();
  }, []);
  const last = turns.value.at(-1);
  useLayoutEffect(toEnd, [last?.id, place.value]);
  return html`
    <div class="conversation" ref=${element} onScroll=${onScroll} tabindex="0" role="region" aria-label=${t("chat.conversation")}>
      <div class="turns">
        ${openProblem.value
          ? html`<div class="problem" role="alert"><${ErrorText} text=${openProblem.value} /><button onClick=${reopen}>${t("chat.tryAgain")}</button> <button onClick=${newChat}>${t("chats.new")}</button></div>`
          : isOpening.value
            ? html`<p class="empty">${t("chat.opening")}</p>`
            : !last
              ? html`<${Empty} />`
              : turns.value.map((turn) => html`<${TurnView} key=${turn.id} turn=${turn} />`)}
      </div>
    </div>
    ${hasNews.value && html`<button class="news" onClick=${toEnd}>${t("chat.news")}<${Icon} name="arrow-down" /></button>`}
  `;
}

/** The length of an answer's text. @param {import("../types.js").Turn} [turn] */
const lengthOf = (turn) =>
  turn ? turn.agents.peek().reduce((sum, agent) => sum + agent.text.peek().length, turn.text.peek().length) : 0;

function Empty() {
  useEffect(() => {
    // Without an answer the page has no questions to begin with; what is wrong is told where one is asked.
    request("/playground/begin").then(async (response) => (beginning.value = await response.json())).catch(() => {});
  }, []);
  const { topics = [], documents = null, model = null } = beginning.value ?? {};
  const questions = topics.map((topic) => (topic.endsWith("?") ? topic : t("chat.topic", { topic })));
  return html`<div class="welcome">
    <h2>${t("chat.ask")}</h2>
    <p class="quiet">${t("chat.welcome")}</p>
    ${questions.length > 0 && html`<div class="followups" role="group" aria-label=${t("chat.starters")}>${questions.map((text) => html`<button onClick=${() => send(text)}>${text}</button>`)}</div>`}
    ${documents !== null && html`<p class="quiet small">${documents ? t("chat.documents", { n: documents }) : t("chat.noDocuments")}</p>`}
    ${model && html`<p class="quiet small">${rich("chat.model", { model: html`<strong>${model}</strong>` })}</p>`}
  </div>`;
}
