/** The chat: the open conversation, and where the next question is written. */
import { about, isWorkbench } from "../about.js";
import { request } from "../api/http.js";
import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../html.js";
import { ErrorText } from "../error_text.js";
import { Icon } from "../icon.js";
import { lazy } from "../lazy.js";
import { place, rooms } from "../shell.js";
import { beginning, health, singleKeys, turns } from "../state.js";
import { chatId, isOpening, isRunning, newChat, openProblem, reopen, retry, send, stop } from "./asking.js";
import { attach, Composer } from "./composer.js";
import { chats } from "./kept.js";
import { inLanguage, nameOfApp, rich, t } from "../texts.js";

/** Late, so that a question can be typed early; asked for as soon as it can, since the app may be gone later. */
const loadTurn = () => import("./turn.js");
const loadSpoken = () => import("./spoken.js");
const TurnView = lazy(loadTurn);
const Spoken = lazy(loadSpoken);
const NEAR_THE_END = 60;

rooms.places.push({ path: "/", title: "", view: ChatPage });
rooms.places.push({ path: "/shared/", title: "", view: lazy(() => import("./shared.js")) });
rooms.side.push(lazy(() => import("./conversations.js")));

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
  const isNew = !turns.value.length && !isOpening.value && !openProblem.value;
  const title = chats.value?.find((chat) => chat.id === chatId.value)?.title ?? "";
  useEffect(() => {
    document.title = title ? `${title} – ${nameOfApp()}` : nameOfApp();
  }, [title]);
  useEffect(() => {
    Promise.all([loadTurn(), loadSpoken()]).catch(() => {}); // the component says where it did not load
    const onKey = (/** @type {KeyboardEvent} */ event) => shortcut(event, help.current);
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  /** @param {DragEvent} event */
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  return html`
    <div
      class=${`chat${isOver.value > 0 ? " dropping" : ""}${isNew ? " new" : ""}`}
      data-drop=${t("chat.drop")}
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
      ${!isNew && html`<h1 class="visually-hidden">${title || t("chat.title")}</h1>`}
      <${Conversation} />
      <${Spoken} />
      <div class="foot">
        <${Composer} />
        ${isNew && html`<${Starters} />`}
        ${about.quotes_only && html`<p class="hint quiet">${isWorkbench ? html`<${NoModel} />` : t("chat.quotes")}</p>`}
        <p class="hint quiet">${t("chat.canBeWrong")} <button class="plain" onClick=${() => help.current?.showModal()}>${t("chat.shortcuts")}</button></p>
        ${isNew && html`<${Legal} />`}
      </div>
      <dialog ref=${help} aria-label=${t("chat.keyboard")}>
        <h2>${t("chat.keyboard")}</h2>
        <table><tbody>${SHORTCUTS.map(([keys, what]) => html`<tr><th scope="row"><kbd>${keys}</kbd></th><td>${what}</td></tr>`)}</tbody></table>
        <p><label><input type="checkbox" checked=${singleKeys} onChange=${(/** @type {any} */ event) => (singleKeys.value = event.currentTarget.checked)} /> ${t("chat.singleKeys")}</label></p>
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
  else if (isTyping || !singleKeys.value || event.ctrlKey || event.metaKey || event.altKey) return;
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
              ? html`<${Welcome} />`
              : turns.value.map((turn) => html`<${TurnView} key=${turn.id} turn=${turn} />`)}
      </div>
    </div>
    ${hasNews.value && html`<button class="news" onClick=${toEnd}>${t("chat.news")}<${Icon} name="arrow-down" /></button>`}
  `;
}

/** The length of an answer's text. @param {import("../types.js").Turn} [turn] */
const lengthOf = (turn) =>
  turn ? turn.agents.peek().reduce((sum, agent) => sum + agent.text.peek().length, turn.text.peek().length) : 0;

function Welcome() {
  return html`<div class="welcome">
    ${about.page.logo && html`<img src=${about.page.logo} alt="" />`}
    <h1>${inLanguage(about.page.welcome) || t("chat.ask")}</h1>
    <p class="quiet">${t("chat.welcome")}</p>
  </div>`;
}

/** Questions to begin with: the organisation's, or one about each of a few documents; and what there is to ask about. */
function Starters() {
  useEffect(() => {
    // Without an answer the page has no questions to begin with; what is wrong is told where one is asked.
    request("/playground/begin").then(async (response) => (beginning.value = await response.json())).catch(() => {});
  }, []);
  const { topics = [], documents = null, model = null } = beginning.value ?? {};
  const own = about.page.starters?.map(inLanguage) ?? [];
  const questions = own.length ? own : topics.map((topic) => (/[?؟？]$/.test(topic) ? topic : t("chat.topic", { topic })));
  return html`
    ${questions.length > 0 && html`<div class="followups" role="group" aria-label=${t("chat.starters")}>${questions.map((text) => html`<button dir="auto" onClick=${() => send(text)}>${text}</button>`)}</div>`}
    ${documents !== null && html`<p class="hint quiet">${documents ? t("chat.documents", { n: documents }) : t("chat.noDocuments")}</p>`}
    ${isWorkbench && model && html`<p class="hint quiet">${rich("chat.model", { model: html`<strong>${model}</strong>` })}</p>`}
  `;
}

/** What the organisation has to say below its page, with its addresses as links. */
function Legal() {
  const said = [about.page.legal, about.page.contact].map(inLanguage).filter(Boolean);
  return said.map((text) => html`<p class="hint quiet legal" dir="auto">${text.split(/(https?:\/\/[^\s<>]*[^\s<>.,;:!?)]|[^\s<>@]+@[\w.-]+\w)/).map((part, index) =>
    index % 2 ? html`<a href=${part.includes("://") ? part : `mailto:${part}`} target="_blank" rel="noopener">${part.replace(/^https?:\/\//, "")}</a>` : part)}</p>`);
}
