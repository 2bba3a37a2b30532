/** The list of chats to the left. */
import { about } from "../about.js";
import { mustSignIn } from "../api/http.js";
import { html, useEffect, useRef, useSignal } from "../html.js";
import { ErrorText } from "../error_text.js";
import { Icon } from "../icon.js";
import { lazy } from "../lazy.js";
import { place } from "../shell.js";
import { chatId, newChat } from "./asking.js";
import { chats, deleteChat, foundChats, isSearching, keepProblem, listChats, more, pinChat, renameChat, searchChats } from "./kept.js";
import { locale, t } from "../texts.js";

/** @typedef {import("./kept.js").Chat} Chat */

const Export = lazy(() => import("./export.js"));
const Share = lazy(() => import("./share.js"));

/** Whether there is a sign-in, so that chats can be shared with those who have one. */
const CAN_SHARE = about.auth_mode !== "none";

const PAUSE_MS = 250;
const DAY_MS = 86_400_000;
const DAYS = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const MONTHS = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric" });

export function View() {
  const search = useSignal("");
  useEffect(() => {
    if (!mustSignIn.value) listChats();
  }, [mustSignIn.value]);
  const wanted = search.value.trim();
  useEffect(() => {
    const soon = setTimeout(() => searchChats(wanted), wanted ? PAUSE_MS : 0);
    return () => clearTimeout(soon);
  }, [wanted]);
  const found = ((wanted ? foundChats.value : chats.value) ?? []).toSorted(
    (one, other) => Number(other.pinned ?? 0) - Number(one.pinned ?? 0) || other.lastUpdated.localeCompare(one.lastUpdated),
  );
  return html`<div class="conversations">
    <button class="new" onClick=${newChat}><${Icon} name="square-pen" />${t("chats.new")}</button>
    ${(chats.value?.length ?? 0) > 0 &&
    html`<input
      type="search"
      aria-label=${t("chats.searchLabel")}
      placeholder=${t("chats.search")}
      maxlength="200"
      value=${search.value}
      onInput=${(/** @type {InputEvent} */ event) => (search.value = /** @type {HTMLInputElement} */ (event.target).value)}
    />`}
    ${keepProblem.value &&
    html`<div class="problem" role="status">
      <${ErrorText} text=${t("chats.notKept", { why: keepProblem.value })} />
      <button onClick=${() => listChats()}>${t("chat.tryAgain")}</button>
    </div>`}
    ${[...Map.groupBy(found, (chat) => (chat.pinned ? t("chats.pinned") : timeOf(chat)))].map(([time, some]) => html`<section key=${time} aria-label=${time}>
      <h2 class="quiet small">${time}</h2>
      <ul>${some.map((chat) => html`<${Entry} key=${chat.id} chat=${chat} wanted=${wanted} />`)}</ul>
    </section>`)}
    ${chats.value && !found.length && html`<p class="empty" role="status">${!wanted ? t("chats.none") : isSearching.value || !foundChats.value ? t("sources.searching") : t("chats.noneFound")}</p>`}
    ${!wanted && more.value && html`<button onClick=${() => listChats(more.value)}>${t("chats.older")}</button>`}
  </div>`;
}

/** When a chat was last written to: today, yesterday, or in which month. @param {Chat} chat */
function timeOf({ lastUpdated }) {
  const written = new Date(lastUpdated);
  const daysAgo = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(written).setHours(0, 0, 0, 0)) / DAY_MS);
  return daysAgo < 2 ? DAYS.format(-Math.max(daysAgo, 0), "day") : MONTHS.format(written);
}

/** The chat with which something was done: its button has the focus again, where the chat stands then. */
let done = "";

/** @param {HTMLElement} button */
function arrive(button) {
  done = "";
  if (document.activeElement === document.body) button.focus(); // else the reader has gone on to something else
}

/** @typedef {"" | "renaming" | "sharing" | "exporting" | "deleting"} Doing */

/** A text with the words that are searched for marked. @param {string} text @param {string} wanted */
function marked(text, wanted) {
  const words = wanted.split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return words.length ? text.split(new RegExp(`(${words.join("|")})`, "giu")).map((part, index) => (index % 2 ? html`<mark>${part}</mark>` : part)) : text;
}

/** @param {{ chat: Chat, wanted: string }} props */
function Entry({ chat, wanted }) {
  const doing = useSignal(/** @type {Doing} */ (""));
  const isOpen = chatId.value === chat.id && (place.value === "/" || place.value.startsWith("/chat/"));
  const title = chat.title || t("chats.untitled");
  const close = () => {
    done = chat.id;
    doing.value = "";
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const isUnfolded = /** @type {HTMLElement} */ (event.currentTarget).querySelector(":popover-open");
    if (event.key !== "Escape" || !(doing.value || isUnfolded)) return;
    event.stopPropagation(); // it neither stops an answer nor closes the list
    if (doing.value) close();
  };
  if (doing.value === "renaming") return html`<li onKeyDown=${onKeyDown}><${Rename} chat=${chat} close=${close} /></li>`;
  if (doing.value === "sharing" || doing.value === "exporting") {
    const [View, label] = doing.value === "sharing" ? [Share, t("chats.shareOne", { title })] : [Export, t("chats.exportOne", { title })];
    return html`<li onKeyDown=${onKeyDown}><div class="asking" role="group" aria-label=${label}><${View} chat=${chat} title=${title} close=${close} /></div></li>`;
  }
  if (doing.value === "deleting") {
    const remove = async () => {
      if ((await deleteChat(chat.id)) && chatId.peek() === chat.id) newChat();
      close();
    };
    return html`<li onKeyDown=${onKeyDown}><div class="asking grave" role="group" aria-label=${t("chats.deleteOne", { title })}>
      <p>${t("chats.deleteSure", { title })}</p>
      <button ref=${focused} onClick=${close}>${t("chats.keep")}</button> <button class="bad" onClick=${remove}>${t("chats.delete")}</button>
    </div></li>`;
  }
  return html`<li class=${isOpen ? "open" : ""} onKeyDown=${onKeyDown}>
    <a href=${`#/chat/${chat.id}`} aria-current=${isOpen ? "page" : undefined} title=${title} dir="auto">${marked(title, wanted)}${wanted && chat.found && html`<span class="excerpt">${marked(chat.found, wanted)}</span>`}</a>
    <button
      class="icon"
      popovertarget=${`actions-${chat.id}`}
      ref=${(/** @type {HTMLElement | null} */ button) => button && done === chat.id && arrive(button)}
      aria-label=${t("chats.actionsFor", { title })}
      title=${t("chats.actionsFor", { title })}
    ><${Icon} name="ellipsis" /></button>
    <div id=${`actions-${chat.id}`} class="menu" popover="auto" role="group" aria-label=${t("chats.actionsFor", { title })}>
      <${Actions} chat=${chat} doing=${doing} />
    </div>
  </li>`;
}

/** @param {{ chat: Chat, doing: import("../types.js").Signal<Doing> }} props */
function Actions({ chat: { id, pinned }, doing }) {
  const togglePin = async () => {
    done = id;
    if ((await pinChat(id, !pinned)) === null) done = "";
  };
  return html`
    <button onClick=${togglePin}><${Icon} name=${pinned ? "pin-off" : "pin"} />${pinned ? t("chats.unpin") : t("chats.pin")}</button>
    <button onClick=${() => (doing.value = "renaming")}><${Icon} name="pencil" />${t("chats.rename")}</button>
    ${CAN_SHARE && html`<button onClick=${() => (doing.value = "sharing")}><${Icon} name="share-2" />${t("chats.share")}</button>`}
    <button onClick=${() => (doing.value = "exporting")}><${Icon} name="download" />${t("chats.export")}</button>
    <button class="bad" onClick=${() => (doing.value = "deleting")}><${Icon} name="trash" />${t("chats.delete")}</button>
  `;
}

/** @param {HTMLElement | null} element */
const focused = (element) => element?.focus();

/** @param {{ chat: Chat, close: () => void }} props */
function Rename({ chat, close }) {
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => box.current?.select(), []);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const title = box.current?.value.trim();
    if (title && title !== chat.title) await renameChat(chat.id, title);
    close();
  };
  return html`<form class="rename" onSubmit=${submit}>
    <input ref=${box} aria-label=${t("chats.newTitle")} maxlength="200" value=${chat.title} />
    <button type="submit">${t("chats.save")}</button>
  </form>`;
}
