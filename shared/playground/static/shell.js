/** The page's frame: conversations at one side, what is open in the middle, what is behind an answer at the other side. */
import { about, isWorkbench } from "./about.js";
import { Fragment, html, signal, useEffect } from "./html.js";
import { Icon } from "./icon.js";
import { openSource } from "./state.js";
import { inLanguage, locale, nameOfApp, t } from "./texts.js";

/**
 * A page of its own: `#/settings`. Without a title it is not in the navigation.
 * @typedef {{ path: string, title: string, icon?: string, view: (props: {}) => any, isListed?: () => boolean }} Place
 */
/**
 * A tab of the panel. Where there is but one, the panel has its title.
 * @typedef {{ id: string, title: string, view: (props: {}) => any, count?: () => number }} Tab
 */

/** Rooms add themselves here when they are imported: `app.js` decides in which order.
 * @type {{ places: Place[], tabs: Tab[], side: ((props: {}) => any)[], foot: (() => any)[], notices: (() => any)[] }} */
export const rooms = { places: [], tabs: [], side: [], foot: [], notices: [] };

/** The part of the address behind `#`. */
export const place = signal(placeNow());
/** The open tab of the panel; empty: the first. */
export const panelTab = signal("");
/** What is open over the page where it is narrow. The panel of the page for readers is also closed where it is wide. */
export const drawer = signal(/** @type {"" | "side" | "panel"} */ (""));
const isNarrow = matching("(max-width: 1100px)");
const isPhone = matching("(max-width: 800px)");
/** What opened the drawer, and has the focus again when it is closed. @type {HTMLElement | null} */
let opener = null;

addEventListener("hashchange", () => {
  place.value = placeNow();
  drawer.value = "";
});

function placeNow() {
  return location.hash.slice(1) || "/";
}

/** @param {string} query */
function matching(query) {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener("change", () => (matches.value = list.matches));
  return matches;
}

/** Show a tab of the panel, and go there: to its beginning, unless a document is opened, which takes the focus itself.
 * @param {string} id */
export function showTab(id) {
  panelTab.value = id;
  open(!isWorkbench || isNarrow.value ? "panel" : "");
  if (!openSource.peek()) focusSoon(() => document.getElementById(`tab-${id}`));
}

/** Close what is open over the page, and go back to what opened it. @returns {boolean} whether there was something. */
function close() {
  if (!drawer.peek() && !opener) return false;
  drawer.value = "";
  openSource.value = null;
  const back = opener;
  focusSoon(() => (back?.isConnected ? back : document.getElementById("question"))); // until then it may be inert
  opener = null;
  return true;
}

/** @param {"" | "side" | "panel"} which */
function open(which) {
  drawer.value = which;
  opener = document.activeElement instanceof HTMLElement ? document.activeElement : null;
}

/** Give an element the focus once it is drawn. @param {() => HTMLElement | null | undefined} find */
export const focusSoon = (find) => requestAnimationFrame(() => find()?.focus());

/** @param {"side" | "panel"} which */
function toggle(which) {
  if (drawer.peek() === which) return close();
  open(which);
  focusSoon(() => document.querySelector(which === "side" ? ".side .new" : ".panel [tabindex='0']"));
}

/** @param {KeyboardEvent} event */
function closeOnEscape(event) {
  if (event.key === "Escape" && close()) event.stopPropagation(); // it does not stop an answer
}

export function Shell() {
  const opened = drawer.value;
  useEffect(() => {
    addEventListener("keydown", closeDrawer);
    return () => removeEventListener("keydown", closeDrawer);
  }, []);
  // The longest path first: `/` is the beginning of all.
  const places = [...rooms.places].sort((one, other) => other.path.length - one.path.length);
  const current = places.find((one) => place.value.startsWith(one.path)) ?? places[0];
  const hasPanel = current?.path === "/" && (opened === "panel" || (isWorkbench && !isNarrow.value));
  const isCovered = (opened === "side" && isPhone.value) || (opened === "panel" && isNarrow.value);
  return html`
    <a class="skip" href="#main" onClick=${focusMain}>${t("shell.skip")}</a>
    <header class=${isWorkbench ? "top work" : "top"}>
      <button class="icon" aria-label=${t("shell.conversations")} aria-expanded=${opened === "side"} onClick=${() => toggle("side")}><${Icon} name="menu" /></button>
      <${Brand} />
      ${isWorkbench && current?.path === "/" && html`<button class="icon" aria-label=${t("shell.behind")} aria-expanded=${opened === "panel"} onClick=${() => toggle("panel")}><${Icon} name="panel-right" /></button>`}
    </header>
    <div class=${`columns${hasPanel ? " with-panel" : ""}`}>
      <div class=${`side${opened === "side" ? " open" : ""}`} inert=${isCovered && opened !== "side"} onKeyDown=${closeOnEscape}>
        <header><${Brand} /></header>
        <aside aria-label=${t("shell.conversations")}>${rooms.side.map((View) => html`<${View} />`)}</aside>
        <nav aria-label=${t("shell.pages")}>
          ${rooms.places
            .filter((one) => one.title && (one === current || one.isListed?.() !== false))
            .map((one) => html`<a href=${`#${one.path}`} aria-current=${one === current ? "page" : undefined}><${Icon} name=${one.icon ?? ""} />${one.title}</a>`)}
          ${isWorkbench && html`<a href="docs"><${Icon} name="braces" />${t("shell.api")}</a>`}
          ${about.page.help_url && html`<a href=${inLanguage(about.page.help_url)} target="_blank" rel="noopener"><${Icon} name="circle-question-mark" />${t("shell.help")}</a>`}
          ${rooms.foot.map((View) => html`<${View} />`)}
        </nav>
      </div>
      <main id="main" tabindex="-1" inert=${isCovered}>${rooms.notices.map((View) => html`<${View} />`)}${current && html`<${current.view} />`}</main>
      ${hasPanel && html`<${Panel} isDrawer=${opened === "panel"} />`}
      ${isCovered && html`<button class="shade" aria-label=${t("shell.close")} onClick=${close}></button>`}
    </div>
  `;
}

/** @param {KeyboardEvent} event */
function closeDrawer(event) {
  if (event.key === "Escape" && drawer.peek() && !event.defaultPrevented) close();
}

/** The organisation's sign and name, which lead to a new question. */
export function Brand() {
  return html`<a class="name" href="#/">
    ${about.page.logo ? html`<img src=${about.page.logo} alt="" />` : html`<span class="mark" aria-hidden="true"></span>`}<span>${nameOfApp()}</span>
  </a>`;
}

/** @param {Event} event */
function focusMain(event) {
  event.preventDefault(); // the part behind # is the open page
  document.getElementById("main")?.focus();
}

/** Short, since all tabs stand in one line. */
const COUNT = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 2 });

/** @param {{ isDrawer: boolean }} props */
function Panel({ isDrawer }) {
  const current = rooms.tabs.find((tab) => tab.id === panelTab.value) ?? rooms.tabs[0];
  if (!current) return null;
  const isAlone = rooms.tabs.length === 1;
  return html`
    <aside class="panel" aria-label=${isAlone ? current.title : t("shell.behind")} onKeyDown=${closeOnEscape}>
      <div class="panel-head">
        ${isAlone ? html`<h2 id=${`tab-${current.id}`} tabindex="-1">${current.title}</h2>` : html`<${Tabs} current=${current} />`}
        ${isDrawer && html`<button class="icon" aria-label=${t("shell.close")} title=${t("shell.close")} onClick=${close}><${Icon} name="x" /></button>`}
      </div>
      <div id="panel" class="panel-body" role=${isAlone ? "region" : "tabpanel"} aria-labelledby=${`tab-${current.id}`} tabindex="0"><${current.view} /></div>
    </aside>
  `;
}

/** @param {{ current: Tab }} props */
function Tabs({ current }) {
  return html`<div class="tabs" role="tablist" aria-label=${t("shell.behind")} onKeyDown=${moveTab}>
    ${rooms.tabs.map((tab) => {
      const count = tab.count?.() ?? 0;
      return html`<button
        role="tab"
        id=${`tab-${tab.id}`}
        aria-controls="panel"
        aria-selected=${tab === current}
        tabindex=${tab === current ? 0 : -1}
        onClick=${() => (panelTab.value = tab.id)}
      >
        ${tab.title}${count ? html`<${Fragment}> <span class="count">${COUNT.format(count)}</span><//>` : null}
      </button>`;
    })}
  </div>`;
}

/**
 * Move between tabs with the arrows (WAI-ARIA Authoring Practices, tabs).
 * @param {KeyboardEvent} event
 */
function moveTab(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const onwards = document.dir === "rtl" ? -step : step;
  const current = rooms.tabs.findIndex((tab) => tab.id === (panelTab.value || rooms.tabs[0]?.id));
  const next = rooms.tabs[(current + onwards + rooms.tabs.length) % rooms.tabs.length];
  if (!next) return;
  panelTab.value = next.id;
  document.getElementById(`tab-${next.id}`)?.focus();
}
