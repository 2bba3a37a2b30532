/** The document of a source, beside the answer, with the passage marked. */
import { ErrorText } from "../error_text.js";
import { Icon } from "../icon.js";
import { isWorkbench } from "../about.js";
import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../html.js";
import { focusSoon } from "../shell.js";
import { openSource } from "../state.js";
import { download, load } from "./documents.js";
import { shownName } from "./names.js";
import { excerptOf } from "./excerpt.js";
import { markCited } from "./passages.js";
import { PdfView } from "./pdf.js";
import { t } from "../texts.js";

/** @typedef {import("./why.js").Why} Why */

/** What was opened when the heading had the focus last: another tab may be looked at meanwhile. @type {unknown} */
let announced = null;

/** @param {{ why: Why }} props */
export function Viewer({ why }) {
  const { source } = why;
  const shown = useSignal(/** @type {import("./documents.js").Shown | null} */ (null));
  const problem = useSignal("");
  const name = shownName(source.id);
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const opened = openSource.value;
  useLayoutEffect(() => {
    if (announced !== opened) heading.current?.focus({ preventScroll: true }); // so that it is read out
    announced = opened;
  }, [opened]);
  const said = openSource.value?.sentence || why.sentences.join(" ");
  const cited = said && excerptOf(source.text, said).closest;
  useEffect(() => {
    const stop = new AbortController();
    /** @type {string} */
    let url = "";
    shown.value = null;
    problem.value = "";
    load(source, stop.signal).then(
      (loaded) => {
        if (loaded.kind === "image") url = loaded.url;
        if (!stop.signal.aborted) shown.value = loaded;
      },
      (error) => {
        if (!stop.signal.aborted) problem.value = error.message;
      },
    );
    return () => {
      stop.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [source.id]);
  const toAll = () => {
    openSource.value = null;
    focusSoon(() => document.getElementById("tab-sources"));
  };
  const save = () => download(source).catch((error) => (problem.value = error.message));
  return html`
    <section class="viewer" aria-label=${t("viewer.document")}>
      <div class="viewer-bar">
        <button class="plain" onClick=${toAll}><${Icon} name="arrow-left" />${t("viewer.all")}</button>
        ${(!source.file || source.file.data) && html`<button onClick=${save}><${Icon} name="download" />${t("viewer.download")}</button>`}
      </div>
      <h2 ref=${heading} tabindex="-1">${why.number ? html`<span aria-hidden="true"><span class="number">${why.number}</span> ${name}</span><span class="visually-hidden">${t("viewer.heading", { number: why.number, name })}</span>` : name}</h2>
      <${WhyThis} why=${why} />
      ${problem.value && html`<div class="notice bad" role="alert"><${ErrorText} text=${problem.value} /></div>`}
      ${!shown.value && !problem.value && html`<p class="quiet">${t("pdf.opening")}</p>`}
      ${shown.value && html`<${Document} shown=${shown.value} source=${source} cited=${cited} />`}
      ${problem.value && html`<${Passage} source=${source} />`}
    </section>
  `;
}

/** @param {{ why: Why }} props */
export function WhyThis({ why }) {
  if (why.source.file) return html`<p class="quiet">${t("sources.attached")}</p>`;
  return isWorkbench && html`<details class="why"><summary>${t("sources.why")}</summary><${Reason} why=${why} /></details>`;
}

/** @param {{ why: Why }} props */
function Reason({ why }) {
  return html`
    <dl class="reason">
      <dt>${t("why.rank")}</dt><dd>${t("why.rankOf", { rank: why.rank })}</dd>
      ${why.score !== null && html`<dt>${t("thoughts.score")}</dt><dd>${round(why.score)}</dd>`}
      ${why.rerankerScore !== null && html`<dt>${t("thoughts.ranker")}</dt><dd>${round(why.rerankerScore)} / 4</dd>`}
      <dt>${t("why.words")}</dt>
      <dd>${why.words.length ? why.words.map((word) => html`<mark class="word">${word}</mark> `) : t("why.noWords")}</dd>
      <dt>${t("why.citedFor")}</dt>
      <dd>${why.sentences.length ? html`<ul>${why.sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul>` : t("why.notCited")}</dd>
    </dl>
  `;
}

/** @param {number} score */
const round = (score) => (Math.abs(score) >= 100 ? score.toFixed(0) : score.toPrecision(3));

/** @param {{ shown: import("./documents.js").Shown, source: import("../types.js").Source, cited: string }} props */
function Document({ shown, source, cited }) {
  switch (shown.kind) {
    case "pdf":
      return html`<${PdfView} key=${source.id} data=${shown.data} page=${shown.page} passage=${source.text} cited=${cited} />`;
    case "image":
      return html`<img class="document-image" src=${shown.url} alt=${source.id} /><${Passage} source=${source} />`;
    case "passage":
      return html`<p class="quiet">${shown.why}</p><${Passage} source=${source} />`;
    default:
      return html`<${Elements} key=${source.id} shown=${shown} passage=${source.text} cited=${cited} />`;
  }
}

/** @param {{ shown: import("./documents.js").ElementsDocument | import("./documents.js").TextDocument, passage: string, cited: string }} props */
function Elements({ shown, passage, cited }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const note = useSignal("");
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    // Put there by hand: Preact must not take elements for its own that it has not made.
    element.replaceChildren(shown.kind === "text" ? shown.text : shown.content.cloneNode(true));
    const mark = markCited(element, passage, cited);
    mark?.scrollIntoView({ block: "center" });
    const cut = shown.kind === "text" && shown.isCut ? `${t("viewer.cut")} ` : "";
    note.value = cut + (mark || !passage ? "" : t("viewer.noPassage"));
  }, [shown, passage, cited]);
  return html`
    <p class="quiet small" role="status">${note.value}</p>
    <div class=${shown.kind === "text" ? "document plain-text" : "document"} ref=${place}></div>
  `;
}

/** @param {{ source: import("../types.js").Source }} props */
function Passage({ source }) {
  return source.text && html`<blockquote class="document plain-text"><mark class="passage">${source.text}</mark></blockquote>`;
}
