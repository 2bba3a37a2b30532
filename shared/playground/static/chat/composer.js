/** Where the question is written: it grows, keeps what was typed, and takes files. */
import { effect, html, signal, useLayoutEffect, useRef } from "../html.js";
import { Icon } from "../icon.js";
import { MOST_BODY } from "../api/ask.js";
import { keep, kept } from "../storage.js";
import { isWorkbench } from "../about.js";
import { allTurns, beginning, mode, turns } from "../state.js";
import { chatId, isRunning, send, stop } from "./asking.js";
import { inKilobytes, readFiles } from "./attachments.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Attachment} Attachment */

/** What is typed in the open chat. */
const draft = signal("");
/** @type {import("../types.js").Signal<Attachment[]>} */
const files = signal([]);
/** Why something was not taken, a sentence each. @type {import("../types.js").Signal<string[]>} */
const refusals = signal([]);

/** @param {string} id */
const keyOf = (id) => `draft.${id || "new"}`;
/** The files of the chats that are not open. @type {Map<string, Attachment[]>} */
const filesElsewhere = new Map();
let current = chatId.peek();
let timer = 0;

/** Each chat has its own draft. A new chat that gets its id takes its draft along. */
effect(() => {
  const id = chatId.value;
  const isNamed = !current && id && allTurns.peek().length > 0;
  if (id !== current && !isNamed) {
    keepDraft();
    filesElsewhere.set(current, files.peek());
    files.value = filesElsewhere.get(id) ?? [];
    refusals.value = [];
  }
  current = id;
  if (isNamed) {
    keep(keyOf(""), null, sessionStorage);
    keepDraft();
  } else draft.value = kept(keyOf(id), sessionStorage) ?? "";
});

/** @param {string} text */
function type(text) {
  draft.value = text;
  clearTimeout(timer);
  timer = setTimeout(keepDraft, 300);
}

/** Keep what is typed until the tab is closed. */
function keepDraft() {
  clearTimeout(timer);
  keep(keyOf(current), draft.peek() || null, sessionStorage);
}
addEventListener("pagehide", () => {
  const last = turns.peek().at(-1); // what waits for a sign-in that leads elsewhere is typed again
  if (last?.error.peek()?.status === 401 && !draft.peek()) draft.value = last.question;
  keepDraft();
});

/** @param {Iterable<File>} chosen */
export async function attach(chosen) {
  const { read, refused } = await readFiles(chosen, files.peek());
  files.value = [...files.peek(), ...read];
  refusals.value = refused;
}

/** Send what is typed, unless it is too long; then it stays, beside a sentence. */
function submit() {
  const question = draft.peek().trim();
  const last = turns.peek().at(-1);
  if (!question || (last && isRunning(last))) return;
  const size = new TextEncoder().encode(JSON.stringify(question)).length + files.peek().reduce((sum, file) => sum + file.data.length, 0);
  if (size > MOST_BODY - 2_000) {
    refusals.value = [t("composer.tooLong", { size: inKilobytes(size), most: inKilobytes(MOST_BODY) })];
    return;
  }
  const attached = files.peek();
  draft.value = "";
  files.value = [];
  keepDraft();
  refusals.value = [];
  send(question, attached);
}

export function Composer() {
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const last = turns.value.at(-1);
  const running = last && isRunning(last) ? last : null;
  useLayoutEffect(() => grow(box.current), [draft.value]);
  // At once: after the page is drawn, somebody may already be typing a key to sign in with.
  useLayoutEffect(() => {
    if (matchMedia("(hover: hover)").matches) box.current?.focus(); // a phone would open its keyboard
  }, [chatId.value]);
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  /** @param {ClipboardEvent} event */
  const onPaste = (event) => {
    const pasted = event.clipboardData?.files;
    if (!pasted?.length) return;
    event.preventDefault();
    attach(pasted);
  };
  return html`
    <form class="composer" aria-label=${t("composer.ask")} onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), submit())}>
      ${refusals.value.length > 0 && html`<div class="problem" role="alert">${refusals.value.map((text) => html`<p>${text}</p>`)}</div>`}
      <div aria-live="polite">${files.value.length > 0 && html`<ul class="files" aria-label=${t("composer.attached")}>${files.value.map((file) => html`<${FileChip} file=${file} />`)}</ul>`}</div>
      <div class="box">
        <textarea
          ref=${box}
          id="question"
          rows="1"
          dir=${draft.value ? "auto" : undefined}
          aria-label=${t("composer.question")}
          placeholder=${mode.value === "team" ? t("composer.askTeam") : t("composer.question")}
          value=${draft.value}
          onInput=${(/** @type {InputEvent} */ event) => type(/** @type {HTMLTextAreaElement} */ (event.target).value)}
          onKeyDown=${onKey}
          onPaste=${onPaste}
        ></textarea>
        <div class="tools">
          <button type="button" class="icon" aria-label=${t("composer.attach")} title=${t("composer.attach")} onClick=${() => picker.current?.click()}><${Icon} name="paperclip" /></button>
          <input
            ref=${picker}
            type="file"
            multiple
            hidden
            aria-label=${t("composer.files")}
            onChange=${() => {
              if (!picker.current) return;
              attach([...(picker.current.files ?? [])]);
              picker.current.value = "";
            }}
          />
          ${(isWorkbench || mode.value === "team" || (beginning.value?.team.length ?? 0) > 0) &&
          html`<div class="switch" role="radiogroup" aria-label=${t("composer.who")}>
            <${Choice} value="chat" label=${isWorkbench ? t("chat.title") : t("tools.assistant")} />
            <${Choice} value="team" label=${t("team.title")} title=${beginning.value?.team.join(", ")} />
          </div>`}
          <span class="space"></span>
          ${running
            ? html`<button type="button" class="primary" onClick=${() => stop(running)}>${t("composer.stop")}</button>`
            : html`<button type="submit" class="primary" disabled=${!draft.value.trim()}>${t("composer.send")}</button>`}
        </div>
      </div>
    </form>
  `;
}

/** @param {{ value: import("../types.js").Mode, label: string, title?: string }} props */
function Choice({ value, label, title }) {
  return html`<label title=${title} class=${mode.value === value ? "chosen" : ""}>
    <input type="radio" name="mode" value=${value} checked=${mode.value === value} onChange=${() => (mode.value = value)} />${label}
  </label>`;
}

/** @param {{ file: Attachment }} props */
function FileChip({ file }) {
  const remove = () => (files.value = files.peek().filter((other) => other !== file));
  return html`<li>
    ${file.type.startsWith("image/") && html`<img src=${`data:${file.type};base64,${file.data}`} alt="" />`}
    <span>${file.name}</span> <span class="quiet">${inKilobytes(file.size)}</span>
    <button type="button" class="plain" aria-label=${t("composer.remove", { name: file.name })} onClick=${remove}><${Icon} name="x" /></button>
  </li>`;
}

/** Give a box the height of its text, up to a part of the window.
 * @param {HTMLTextAreaElement | null} box */
export function grow(box) {
  if (!box) return;
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight + 2, innerHeight * 0.4)}px`;
}
