/** Shows pages of a PDF file: each as an image with its text above it, so that it can be marked, searched and copied. */
import { Icon } from "../icon.js";
import { html, useEffect, useRef, useSignal } from "../html.js";
import { markCited, markIn, rangesOf, unmark } from "./passages.js";
import { t } from "../texts.js";

/** @typedef {import("../vendor/pdf.js").DocumentProxy} DocumentProxy */

const MOST_PIXELS = 8_000_000;
const NARROW = 600;
const ZOOMED = 1.69;
const STEP = 1.3;
const MOST_ZOOM = 3;

/** pdf.js, with its worker, once. @type {Promise<typeof import("../vendor/pdf.js")> | null} */
let library = null;

async function pdfjs() {
  library ??= import("../vendor/pdf.js").then((loaded) => {
    const script = new URL("../vendor/pdf.worker.js", import.meta.url).href;
    loaded.GlobalWorkerOptions.workerPort = new Worker(/** @type {string} */ (trusted(script)), { type: "module" });
    return loaded;
  });
  return library;
}

/** The address of our own worker, as the policy of the page wants it (Trusted Types). @param {string} own */
function trusted(own) {
  const { trustedTypes } = /** @type {any} */ (globalThis);
  if (!trustedTypes) return own;
  return trustedTypes.createPolicy("playground", { createScriptURL: () => own }).createScriptURL(own);
}

/**
 * @param {{ data: Uint8Array, page: number, passage: string, cited: string }} props
 */
export function PdfView({ data, page: first, passage, cited }) {
  const file = useSignal(/** @type {DocumentProxy | null} */ (null));
  const problem = useSignal("");
  const page = useSignal(first);
  const words = useSignal("");
  const note = useSignal("");
  const zoom = useSignal(innerWidth < NARROW ? ZOOMED : 1); // a page as wide as a phone cannot be read
  useEffect(() => {
    /** @type {import("../vendor/pdf.js").LoadingTask | null} */
    let task = null;
    let isGone = false;
    (async () => {
      try {
        const { getDocument } = await pdfjs();
        if (isGone) return;
        task = getDocument({ data: data.slice(), isEvalSupported: false, enableXfa: false, stopAtErrors: false });
        file.value = await task.promise;
        page.value = Math.min(Math.max(first, 1), file.value.numPages);
      } catch (error) {
        if (!isGone) problem.value = problemOf(error);
      }
    })();
    return () => {
      isGone = true;
      task?.destroy();
    };
  }, [data]);
  if (problem.value) return html`<p class="notice bad" role="alert">${problem.value}</p>`;
  const pages = file.value?.numPages ?? 0;
  /** @param {number} number */
  const turn = (number) => (page.value = Math.min(Math.max(number, 1), pages || 1));
  /** @param {Event} event */
  const search = async (event) => {
    event.preventDefault();
    if (!file.value || !words.value.trim()) return;
    const found = await pageWith(file.value, words.value, page.value);
    note.value = found ? t("pdf.found", { page: String(found) }) : t("pdf.notFound");
    if (found) turn(found);
  };
  return html`
    <div class="pdf-bar">
      <button class="icon" aria-label=${t("pdf.before")} disabled=${page.value <= 1} onClick=${() => turn(page.value - 1)}><${Icon} name="chevron-left" /></button>
      <label>${t("pdf.page")} <input class="page-number" inputmode="numeric" aria-label=${t("pdf.page")} value=${page.value}
        onChange=${(/** @type {any} */ event) => turn(Number(event.currentTarget.value) || page.value)} /></label>
      <span class="quiet">${t("pdf.of", { pages: String(pages || "…") })}</span>
      <button class="icon" aria-label=${t("pdf.next")} disabled=${page.value >= pages} onClick=${() => turn(page.value + 1)}><${Icon} name="chevron-right" /></button>
      <button class="icon" aria-label=${t("pdf.smaller")} title=${t("pdf.smaller")} disabled=${zoom.value <= 1} onClick=${() => (zoom.value /= STEP)}><${Icon} name="minus" /></button>
      <button class="icon" aria-label=${t("pdf.larger")} title=${t("pdf.larger")} disabled=${zoom.value >= MOST_ZOOM} onClick=${() => (zoom.value *= STEP)}><${Icon} name="plus" /></button>
      <form class="search" role="search" onSubmit=${search}>
        <input type="search" placeholder=${t("pdf.find")} aria-label=${t("pdf.find")}
          onInput=${(/** @type {any} */ event) => (words.value = event.currentTarget.value)} />
      </form>
    </div>
    <p class="quiet small" role="status">${note.value}</p>
    ${file.value && html`<${Page} file=${file.value} number=${page.value} passage=${page.value === first ? passage : ""} cited=${cited} words=${words.value} zoom=${zoom.value} />`}
    ${!file.value && html`<p class="quiet">${t("pdf.opening")}</p>`}
  `;
}

/** @param {{ file: DocumentProxy, number: number, passage: string, cited: string, words: string, zoom: number }} props */
function Page({ file, number, passage, cited, words, zoom }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const note = useSignal("");
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let isGone = false;
    /** @type {{ cancel(): void }[]} */
    const running = [];
    draw(file, number, zoom, element, running, () => isGone)
      .then((layer) => {
        if (isGone || !layer) return;
        const mark = passage ? markCited(layer, passage, cited) : null;
        note.value = passage && !mark ? t("pdf.noPassage") : "";
        if (words.trim()) markIn(layer, words, "found");
        (mark ?? layer.querySelector("mark"))?.scrollIntoView({ block: "center", inline: "nearest" });
        const line = /** @type {HTMLElement | null} */ (layer.querySelector(".margin"));
        if (line) element.parentElement?.scrollTo({ left: line.offsetLeft - 12 }); // where its lines begin
      })
      .catch((error) => {
        if (!isGone) note.value = problemOf(error);
      });
    return () => {
      isGone = true;
      for (const one of running) one.cancel();
    };
  }, [file, number, passage, cited, zoom]);
  useEffect(() => {
    const layer = /** @type {HTMLElement | null} */ (place.current?.querySelector(".text-layer") ?? null);
    if (!layer) return;
    unmark(layer, "found");
    if (words.trim().length > 1) markIn(layer, words, "found")?.scrollIntoView({ block: "nearest" });
  }, [words]);
  return html`
    <div class="pdf-frame" tabindex="0" role="region" aria-label=${t("pdf.pageNumber", { page: String(number) })}><div class="pdf-page" dir="ltr" ref=${place}></div></div>
    <p class="quiet small" role="status">${note.value}</p>
  `;
}

/**
 * Draw a page into an element, and return its text layer; null if nobody waits any more.
 * @param {DocumentProxy} file
 * @param {number} number
 * @param {number} zoom 1: as wide as the panel.
 * @param {HTMLElement} element
 * @param {{ cancel(): void }[]} running
 * @param {() => boolean} isGone
 */
async function draw(file, number, zoom, element, running, isGone) {
  const { TextLayer } = await pdfjs();
  const page = await file.getPage(number);
  const plain = page.getViewport({ scale: 1 });
  const width = Math.max(element.parentElement?.clientWidth ?? 0, 200) * zoom;
  const viewport = page.getViewport({ scale: width / plain.width });
  const sharp = Math.min(devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (viewport.width * viewport.height)));
  const large = page.getViewport({ scale: viewport.scale * sharp });
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(large.width);
  canvas.height = Math.ceil(large.height);
  canvas.setAttribute("aria-hidden", "true");
  const layer = document.createElement("div");
  layer.className = "text-layer";
  element.style.setProperty("--total-scale-factor", String(viewport.scale));
  element.style.height = `${viewport.height}px`;
  element.style.width = `${viewport.width}px`;
  element.replaceChildren(canvas, layer);
  const rendering = page.render({ canvas, viewport: large });
  const text = new TextLayer({ textContentSource: await page.getTextContent(), container: layer, viewport });
  running.push(rendering, text);
  await text.render();
  await rendering.promise;
  return isGone() ? null : layer;
}

/**
 * The next page that has some words, from a page on and round; 0: none has.
 * @param {DocumentProxy} file
 * @param {string} words
 * @param {number} from
 */
async function pageWith(file, words, from) {
  for (let step = 1; step <= file.numPages; step += 1) {
    const number = ((from - 1 + step) % file.numPages) + 1;
    const content = await (await file.getPage(number)).getTextContent();
    if (rangesOf(content.items.map((item) => item.str ?? "").join(" "), words).length) return number;
  }
  return 0;
}

/** @param {unknown} error */
function problemOf(error) {
  const name = error instanceof Error ? error.name : "";
  if (name === "PasswordException") return t("pdf.password");
  if (name === "RenderingCancelledException" || name === "AbortException") return "";
  return t("pdf.broken");
}
