/** The list of chats to the left. */
import { mustSignIn } from "../api/http.js";
import { html, useEffect, useRef, useSignal } from "../html.js";
import { ErrorText } from "../error_text.js";
import { Icon } from "../icon.js";
import { place } from "../shell.js";
import { chatId, newChat } from "./asking.js";
import { chats, deleteChat, keepProblem, listChats, more, renameChat } from "./kept.js";

/** @typedef {import("./kept.js").Chat} Chat */

export function Conversations() {
  const search = useSignal("");
  useEffect(() => {
    if (!mustSignIn.value) listChats();
  }, [mustSignIn.value]);
  const wanted = search.value.trim().toLowerCase();
  const found = (chats.value ?? []).filter((chat) => chat.title.toLowerCase().includes(wanted));
  return html`<div class="conversations">
    <button class="primary new" onClick=${newChat}><${Icon} name="square-pen" />New chat</button>
    ${(chats.value?.length ?? 0) > 0 &&
    html`<input
      type="search"
      aria-label="Search chats by title"
      placeholder="Search titles"
      value=${search.value}
      onInput=${(/** @type {InputEvent} */ event) => (search.value = /** @type {HTMLInputElement} */ (event.target).value)}
    />`}
    ${keepProblem.value &&
    html`<div class="problem" role="status">
      <${ErrorText} text=${`Chats are not kept at the moment. ${keepProblem.value}`} />
      <button onClick=${() => listChats()}>Try again</button>
    </div>`}
    <ul>
      ${found.map((chat) => html`<${Entry} key=${chat.id} chat=${chat} />`)}
    </ul>
    ${chats.value && !found.length && html`<p class="empty">${wanted ? "No chat has these words in its title." : "Your chats will be listed here."}</p>`}
    ${more.value && html`<button onClick=${() => listChats(more.value)}>Show older chats</button>`}
  </div>`;
}

/** @param {{ chat: Chat }} props */
function Entry({ chat }) {
  const doing = useSignal(/** @type {"" | "renaming" | "deleting"} */ (""));
  const isOpen = chatId.value === chat.id && (place.value === "/" || place.value.startsWith("/chat/"));
  const title = chat.title || "New Chat";
  const close = () => (doing.value = "");
  if (doing.value === "renaming") return html`<li><${Rename} chat=${chat} close=${close} /></li>`;
  if (doing.value === "deleting") {
    const remove = async () => {
      if ((await deleteChat(chat.id)) && chatId.peek() === chat.id) newChat();
      close();
    };
    return html`<li class="asking" role="group" aria-label=${`Delete ${title}`} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close()}>
      <p>Delete “${title}” with all its messages?</p>
      <button ref=${focused} onClick=${close}>Keep</button> <button class="bad" onClick=${remove}>Delete</button>
    </li>`;
  }
  return html`<li class=${isOpen ? "open" : ""}>
    <a href=${`#/chat/${chat.id}`} aria-current=${isOpen ? "page" : undefined} title=${title} dir="auto">${title}</a>
    <button class="icon" aria-label=${`Rename ${title}`} title="Rename" onClick=${() => (doing.value = "renaming")}><${Icon} name="pencil" /></button>
    <button class="icon" aria-label=${`Delete ${title}`} title="Delete" onClick=${() => (doing.value = "deleting")}><${Icon} name="trash" /></button>
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
    <input ref=${box} aria-label="New title" maxlength="200" value=${chat.title} />
    <button type="submit">Save</button>
  </form>`;
}
