/** What a chat is shared by: a link to a copy of it, which can be copied, brought up to date, and taken back. */
import { baseUrl, request } from "../api/http.js";
import { CopyButton } from "../copy.js";
import { ErrorText } from "../error_text.js";
import { html, useEffect, useRef, useSignal } from "../html.js";
import { t } from "../texts.js";
import { keeping } from "./kept.js";

/** @typedef {import("./kept.js").Chat} Chat */

/** @param {{ chat: Chat, title: string, close: () => void }} props */
export function View({ chat, title, close }) {
  const link = useSignal("");
  const shared = useSignal(""); // as it was before
  const problem = useSignal("");
  const isStopped = useSignal(false);
  const isSending = useRef(false);
  const linkTo = (/** @type {{ id: string }} */ { id }) => `${baseUrl}/#/shared/${id}`;
  useEffect(() => {
    const load = async () => {
      const response = await request(`/chat-history/${encodeURIComponent(chat.id)}/share`);
      if (response.status === 200 && !isSending.current) shared.value = linkTo(await response.json());
    };
    load().catch(() => {}); // the buttons work all the same, and say what is wrong
  }, []);
  const send = async (/** @type {"POST" | "DELETE"} */ method) => {
    if (isSending.current) return;
    isSending.current = true;
    problem.value = "";
    try {
      await keeping; // of an answer that has just ended
      const response = await request(`/chat-history/${encodeURIComponent(chat.id)}/share`, { method });
      isStopped.value = method === "DELETE";
      link.value = isStopped.value ? "" : linkTo(await response.json());
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
    isSending.current = false;
  };
  if (isStopped.value) {
    return html`<p role="status">${t("share.stopped", { title })}</p><button ref=${focused} onClick=${close}>${t("shell.close")}</button>`;
  }
  return html`
    <p>${t("share.with", { title })}</p>
    ${link.value
      ? html`<input readonly ref=${selected} aria-label=${t("share.link")} value=${link.value} />
          <${CopyButton} text=${() => link.value} label=${t("share.copy")}>${t("share.copy")}<//>`
      : html`${shared.value && html`<p>${t("share.shared")} <${CopyButton} text=${() => shared.value} label=${t("share.copy")}>${t("share.copy")}<//></p>`}
          <button class="primary" ref=${focused} onClick=${() => send("POST")}>${shared.value ? t("share.update") : t("share.make")}</button>`}
    ${(shared.value || link.value) && html`<button class="bad" onClick=${() => send("DELETE")}>${t("share.stop")}</button>`} <button onClick=${close}>${t("shell.close")}</button>
    ${problem.value && html`<div role="alert"><${ErrorText} text=${problem.value} /></div>`}
  `;
}

/** @param {HTMLElement | null} element */
const focused = (element) => element?.focus();

/** @param {HTMLInputElement | null} box */
function selected(box) {
  box?.focus();
  box?.select();
}
