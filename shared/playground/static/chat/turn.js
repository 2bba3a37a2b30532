/** A question and its answer, with what can be done with them. */
import { isWorkbench } from "../about.js";
import { Icon } from "../icon.js";
import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../html.js";
import { lazy } from "../lazy.js";
import { showTab } from "../shell.js";
import { shownName } from "../sources/names.js";
import { countCited, reasonsOf, thoughtsOf } from "../sources/why.js";
import { childrenOf, openSource, selected, selectedId, turns } from "../state.js";
import { goOn, isRunning, retry, send, show } from "./asking.js";
import { inKilobytes } from "./attachments.js";
import { CopyAnswer } from "./copied.js";
import { grow } from "./composer.js";
import { ProblemCard } from "./problem.js";
import { rich, t } from "../texts.js";

/** Late, since it brings the libraries that read Markdown and make it safe. A browser never tries again to load what it
 * could not load, so it has to wait until the app is known to be reachable: until something was found. */
const loadAnswer = () => import("./answer.js");
const Answer = lazy(loadAnswer);
const loadCalls = () => import("../tools/calls.js");
const Calls = lazy(loadCalls, "tools/tools.css");
const Consents = lazy(async () => ({ View: (await loadCalls()).Consents }));
const Verdict = lazy(() => import("./verdict.js"));

/** @typedef {import("../types.js").Turn} Turn */
/** @typedef {import("../types.js").AgentRun} AgentRun */

/** @param {{ turn: Turn }} props */
export function View({ turn }) {
  const running = isRunning(turn);
  const isLast = turns.value.at(-1) === turn;
  const followups = isLast && !running ? turn.followups.value : [];
  const isDrawn = useSignal(false);
  const draws = turn.sources.value.length > 0 || turn.text.value !== "";
  useEffect(() => void (draws && loadAnswer().catch(() => {}).then(() => (isDrawn.value = true))), [draws]); // the component says where it did not load
  return html`
    <article class=${`turn${selected.value === turn && !isLast ? " selected" : ""}`} aria-label=${t("turn.question", { question: turn.question.slice(0, 80) })}>
      <${Question} turn=${turn} />
      <div class="reply" role="group" aria-label=${t("turn.answer")} aria-busy=${running || (draws && !isDrawn.value)}>
        ${turn.agents.value.map((agent, index) => html`<${AgentReply} key=${agent.messageId || agent.name} turn=${turn} agent=${agent} index=${index} />`)}
        ${turn.reasoning.value && html`<details class="reasoning"><summary>${t("turn.reasoning")}</summary><p dir="auto">${turn.reasoning}</p></details>`}
        <${CallsBefore} turn=${turn} index=${turn.agents.value.length} />
        ${turn.text.value && html`<${Answer} turn=${turn} text=${turn.text} sources=${turn.sources.value} isWhole=${!running} />`}
        ${turn.status.value === "waiting" && html`<${Consents} turn=${turn} decided=${() => goOn(turn)} />`}
        ${running && html`<p class="working"><span class="dot" aria-hidden="true"></span>${doing(turn)}</p>`}
        ${turn.status.value === "stopped" && html`<p class="quiet">${turn.calls.value.some((call) => call.state === "abandoned") ? t("tools.left") : t("turn.stopped")}</p>`}
        ${turn.status.value === "done" && turn.finishReason.value === "length" && html`<p class="quiet">${t("turn.tooLong")}</p>`}
        ${isEmpty(turn) && html`<p class="quiet">${t("turn.empty")}</p>`}
        ${turn.status.value === "done" && isForeign(turn) && html`<p class="quiet">${isWorkbench ? rich("turn.foreign") : t("turn.otherLanguage")}</p>`}
        <${ProblemCard} turn=${turn} />
        ${!running && html`<${Printed} turn=${turn} /><${Actions} turn=${turn} />`}
      </div>
      ${followups.length > 0 &&
      html`<div class="followups" role="group" aria-label=${t("turn.followups")}>
        ${followups.map((text) => html`<button dir="auto" onClick=${() => send(text)}>${text}</button>`)}
      </div>`}
    </article>
  `;
}

/** Whether only words were searched, for a question in another language than the documents. The built-in model tells readers itself.
 * @param {Turn} turn */
function isForeign(turn) {
  const thoughts = thoughtsOf(turn);
  return thoughts.some((thought) => thought.props?.foreign) && (isWorkbench || !thoughts.some((thought) => thought.props?.kind));
}

/** Whether nothing was said at all. @param {Turn} turn */
export const isEmpty = ({ status, text, agents, calls }) => status.value === "done" && !text.value.trim() && !agents.value.length && !calls.value.length;

/** The list of sources below an answer on paper, where no number opens anything. @param {{ turn: Turn }} props */
function Printed({ turn }) {
  const cited = reasonsOf(turn).filter((why) => why.number);
  return cited.length > 0 && html`<div class="on-paper"><p>${t("sources.title")}</p><ol>${cited.map(({ source }) => html`<li>${shownName(source.id)}</li>`)}</ol></div>`;
}

/** @param {Turn} turn */
function doing(turn) {
  if (turn.isCut.value) return t("turn.lost");
  if (turn.status.value === "streaming") return turn.mode === "team" ? t("turn.teamWorks") : t("turn.writing");
  if (turn.reasoning.value) return t("turn.thinking");
  return turn.sources.value.length ? t("turn.reading") : t("turn.searching");
}

/** @param {{ turn: Turn }} props */
function Question({ turn }) {
  const isEdited = useSignal(false);
  if (isEdited.value) return html`<${Editor} turn=${turn} close=${() => (isEdited.value = false)} />`;
  const branches = childrenOf(turn.parent);
  const at = branches.indexOf(turn);
  return html`
    <div class="question">
      ${turn.attachments.length > 0 &&
      html`<ul class="files" aria-label=${t("composer.attached")}>
        ${turn.attachments.map((file) => html`<li>
          ${file.data && file.type.startsWith("image/") && html`<img src=${`data:${file.type};base64,${file.data}`} alt="" />`}
          <span>${file.name}</span> <span class="quiet">${inKilobytes(file.size)}</span>
        </li>`)}
      </ul>`}
      <h2 dir="auto">${turn.question}</h2>
      <div class="actions">
        ${branches.length > 1 &&
        html`<span class="branches" role="group" aria-label=${t("turn.branches")}>
          <button class="plain" aria-label=${t("turn.previous")} disabled=${at === 0} onClick=${() => show(/** @type {Turn} */ (branches[at - 1]))}><${Icon} name="chevron-left" /></button>
          <span>${at + 1}/${branches.length}</span>
          <button class="plain" aria-label=${t("turn.next")} disabled=${at === branches.length - 1} onClick=${() => show(/** @type {Turn} */ (branches[at + 1]))}><${Icon} name="chevron-right" /></button>
        </span>`}
        <button class="plain act" aria-label=${t("turn.edit")} title=${t("turn.edit")} disabled=${isRunning(turn)} onClick=${() => (isEdited.value = true)}><${Icon} name="pencil" /></button>
      </div>
    </div>
  `;
}

/** @param {{ turn: Turn, close: () => void }} props */
function Editor({ turn, close }) {
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const text = useSignal(turn.question);
  useLayoutEffect(() => {
    grow(box.current);
    box.current?.focus();
  }, []);
  const submit = () => {
    if (!text.value.trim()) return;
    close();
    send(text.value.trim(), turn.attachments, turn.parent);
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
  };
  return html`<form class="question editor" aria-label=${t("turn.editQuestion")} onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), submit())}>
    <textarea
      ref=${box}
      aria-label=${t("turn.edited")}
      dir="auto"
      value=${text.value}
      onInput=${(/** @type {InputEvent} */ event) => {
        text.value = /** @type {HTMLTextAreaElement} */ (event.target).value;
        grow(box.current);
      }}
      onKeyDown=${onKey}
    ></textarea>
    <div class="actions">
      <button type="button" onClick=${close}>${t("turn.cancel")}</button>
      <button type="submit" class="primary" disabled=${!text.value.trim()}>${t("turn.inNewBranch")}</button>
    </div>
  </form>`;
}

/** The calls that an agent made for its message; at the end of the messages those of agents that have not spoken since.
 * @param {{ turn: Turn, index: number }} props */
function CallsBefore({ turn, index }) {
  const agents = turn.agents.value;
  const calls = turn.calls.value.filter((call) => {
    const next = agents.findIndex((agent, at) => at >= call.place && agent.name === call.agent);
    return (next < 0 ? agents.length : next) === index;
  });
  return calls.length > 0 && html`<${Calls} calls=${calls} />`;
}

/** @param {{ turn: Turn, agent: AgentRun, index: number }} props */
function AgentReply({ turn, agent, index }) {
  return html`<div class="agent" role="group" aria-label=${agent.name}>
    <h3>${agent.name}${agent.state.value === "failed" && html` <span class="bad">${t("turn.failed")}</span>`}</h3>
    <${CallsBefore} turn=${turn} index=${index} />
    <${Answer} turn=${turn} text=${agent.text} sources=${agent.sources.value} isWhole=${agent.state.value !== "working"} />
  </div>`;
}

/** @param {{ turn: Turn }} props */
function Actions({ turn }) {
  const cited = countCited(turn);
  const hasSaid = turn.text.value || turn.agents.value.length > 0;
  const behind = () => {
    selectedId.value = turn.id;
    openSource.value = null;
    showTab("sources");
  };
  return html`<div class="actions">
    ${(isWorkbench || turn.sources.value.length > 0 || cited > 0) &&
    html`<button class="plain behind" onClick=${behind}><${Icon} name=${isWorkbench ? "panel-right" : "book-open"} />${isWorkbench ? t("shell.behind") : cited ? t("turn.sources", { n: cited }) : t("sources.title")}</button>`}
    ${hasSaid && html`<${CopyAnswer} turn=${turn} />`}
    ${!turn.error.value && turn.status.value !== "waiting" && html`<button class="plain act" aria-label=${t("chat.tryAgain")} title=${t("chat.tryAgain")} onClick=${() => retry(turn)}><${Icon} name="refresh-cw" /></button>`}
    ${turn.status.value === "done" && html`<${Verdict} turn=${turn} />`}
  </div>`;
}
