/** A chat that somebody has shared: a copy, to read. What it cites opens with the reader's own rights. */
import { mustSignIn, request } from "../api/http.js";
import { ErrorText } from "../error_text.js";
import { html, signal, useEffect, useMemo, useSignal } from "../html.js";
import { place } from "../shell.js";
import { download } from "../sources/documents.js";
import { shownName } from "../sources/names.js";
import { newTurn } from "../state.js";
import { day, nameOfApp, t } from "../texts.js";
import { View as Answer } from "./answer.js";

/** @typedef {{ role: string, content: string, citations: string[], agentName?: string, finishReason?: string }} Message */

export function View() {
  const id = place.value.split("/")[2] ?? "";
  const copy = useSignal(/** @type {{ title: string, shared: string, messages: Message[] } | null} */ (null));
  const problem = useSignal("");
  useEffect(() => {
    copy.value = null;
    problem.value = "";
    const stop = new AbortController();
    request(`/shared/${encodeURIComponent(id)}`, { signal: stop.signal })
      .then(async (response) => {
        copy.value = await response.json();
        document.title = `${copy.value?.title} – ${nameOfApp()}`;
      })
      .catch((error) => !stop.signal.aborted && (problem.value = error instanceof Error ? error.message : String(error)));
    return () => stop.abort();
  }, [id, mustSignIn.value]);
  return html`<div class="turns">
    <h1 dir="auto">${copy.value?.title ?? t("shared.title")}</h1>
    ${problem.value && !mustSignIn.value && html`<div class="problem" role="alert"><${ErrorText} text=${problem.value} /></div>`}
    ${copy.value && html`<p class="quiet">${t("shared.about", { day: day(copy.value.shared) })}</p>`}
    ${copy.value?.messages.map((message, index) => html`<${Said} key=${`${id} ${index}`} message=${message} />`)}
  </div>`;
}

/** @param {{ message: Message }} props */
function Said({ message: { role, content, citations, agentName, finishReason } }) {
  const problem = useSignal("");
  const { turn, text, sources } = useMemo(() => {
    const named = citations.map((name) => ({ id: name, title: name, url: "", text: "" }));
    return { turn: newTurn({ question: "" }), text: signal(content), sources: named };
  }, [content, citations]);
  if (role === "user") return html`<div class="question"><p dir="auto">${content}</p></div>`;
  const save = (/** @type {string} */ name) => {
    problem.value = "";
    download({ id: name }).catch((error) => (problem.value = error.message));
  };
  return html`<div class=${agentName ? "agent" : "reply turn"} role="group" aria-label=${agentName || t("turn.answer")}>
    ${agentName && html`<h2>${agentName}</h2>`}
    <${Answer} turn=${turn} text=${text} sources=${sources} isWhole=${true} openCopied=${save} />
    ${finishReason === "stopped" && html`<p class="quiet">${t("shared.stopped")}</p>`}
    ${finishReason === "length" && html`<p class="quiet">${t("turn.tooLong")}</p>`}
    ${citations.length > 0 &&
    html`<p class="actions quiet"><span>${t("sources.cited")}</span>${citations.map((name) => html`<button class="plain" title=${t("viewer.download")} onClick=${() => save(name)}>${shownName(name)}</button>`)}</p>`}
    ${problem.value && html`<div class="problem" role="alert"><${ErrorText} text=${problem.value} /></div>`}
  </div>`;
}
