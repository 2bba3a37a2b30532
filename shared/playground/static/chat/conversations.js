/** The list of chats to the left. */
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

const PAUSE_MS = 250;
const DAY_MS = 86_400_000;
const DAYS = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const MONTHS = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric" });

export function Conversations() {
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
    <button class="primary new" onClick=${newChat}><${Icon} name="square-pen" />${t("chats.new")}</button>
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
      <ul>${some.map((chat) => html`<${Entry} key=${chat.id} chat=${chat} />`)}</ul>
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

/** The chat that was pinned by its button, or no longer is: the button keeps the focus where the chat stands then. */
let moved = "";

/** @param {Chat} chat */
async function togglePin({ id, pinned }) {
  moved = id;
  await pinChat(id, !pinned);
}

/** @param {HTMLElement} button */
function arrive(button) {
  moved = "";
  button.parentElement?.querySelector("a")?.focus(); // which shows the button
  button.focus();
}

/** @param {{ chat: Chat }} props */
function Entry({ chat }) {
  const doing = useSignal(/** @type {"" | "renaming" | "exporting" | "deleting"} */ (""));
  const isOpen = chatId.value === chat.id && (place.value === "/" || place.value.startsWith("/chat/"));
  const title = chat.title || t("chats.untitled");
  const close = () => (doing.value = "");
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close();
  if (doing.value === "renaming") return html`<li><${Rename} chat=${chat} close=${close} /></li>`;
  if (doing.value === "exporting") {
    return html`<li class="asking export" role="group" aria-label=${t("chats.exportOne", { title })} onKeyDown=${onKeyDown}>
      <${Export} chat=${chat} title=${title} close=${close} />
    </li>`;
  }
  if (doing.value === "deleting") {
    const remove = async () => {
      if ((await deleteChat(chat.id)) && chatId.peek() === chat.id) newChat();
      close();
    };
    return html`<li class="asking" role="group" aria-label=${t("chats.deleteOne", { title })} onKeyDown=${onKeyDown}>
      <p>${t("chats.deleteSure", { title })}</p>
      <button ref=${focused} onClick=${close}>${t("chats.keep")}</button> <button class="bad" onClick=${remove}>${t("chats.delete")}</button>
    </li>`;
  }
  return html`<li class=${isOpen ? "open" : ""}>
    <a href=${`#/chat/${chat.id}`} aria-current=${isOpen ? "page" : undefined} title=${title} dir="auto">${title}</a>
    <button
      class="icon"
      ref=${(/** @type {HTMLElement | null} */ button) => button && moved === chat.id && arrive(button)}
      aria-label=${chat.pinned ? t("chats.unpinOne", { title }) : t("chats.pinOne", { title })}
      title=${chat.pinned ? t("chats.unpin") : t("chats.pin")}
      onClick=${() => togglePin(chat)}
    ><${Icon} name=${chat.pinned ? "pin-off" : "pin"} /></button>
    <button class="icon" aria-label=${t("chats.renameOne", { title })} title=${t("chats.rename")} onClick=${() => (doing.value = "renaming")}><${Icon} name="pencil" /></button>
    <button class="icon" aria-label=${t("chats.exportOne", { title })} title=${t("chats.export")} onClick=${() => (doing.value = "exporting")}><${Icon} name="download" /></button>
    <button class="icon" aria-label=${t("chats.deleteOne", { title })} title=${t("chats.delete")} onClick=${() => (doing.value = "deleting")}><${Icon} name="trash" /></button>
  </li>`;
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
  return html`<form class="rename" onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close()}>
    <input ref=${box} aria-label=${t("chats.newTitle")} maxlength="200" value=${chat.title} />
    <button type="submit">${t("chats.save")}</button>
  </form>`;
}
