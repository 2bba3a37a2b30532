/** The page's frame: conversations to the left, what is open in the middle, what is behind an answer to the right. */
import { Fragment, html, signal, useEffect } from "./html.js";
import { Icon } from "./icon.js";
import { ThemeButton } from "./theme.js";
import { locale, t } from "./texts.js";

/**
 * A page of its own: `#/settings`. Without a title it is not in the navigation.
 * @typedef {{ path: string, title: string, view: (props: {}) => any, isListed?: () => boolean }} Place
 */
/**
 * A tab of the panel to the right.
 * @typedef {{ id: string, title: string, view: (props: {}) => any, count?: () => number }} Tab
 */

/** Rooms add themselves here when they are imported: `app.js` decides in which order.
 * @type {{ places: Place[], tabs: Tab[], side: (() => any)[], top: (() => any)[], notices: (() => any)[] }} */
export const rooms = { places: [], tabs: [], side: [], top: [], notices: [] };

/** The part of the address behind `#`. */
export const place = signal(placeNow());
/** The open tab of the panel; empty: the first. */
export const panelTab = signal("");
/** What is open over the page where it is narrow. */
export const drawer = signal(/** @type {"" | "side" | "panel"} */ (""));

addEventListener("hashchange", () => {
  place.value = placeNow();
  drawer.value = "";
});

function placeNow() {
  return location.hash.slice(1) || "/";
}

/** Show a tab of the panel, also where the page is narrow.
 * @param {string} id */
export function showTab(id) {
  panelTab.value = id;
  if (matchMedia("(max-width: 1100px)").matches) drawer.value = "panel";
}

export function Shell() {
  const open = drawer.value;
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const close = (event) => {
      if (event.key === "Escape") drawer.value = "";
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, []);
  // The longest path first: `/` is the beginning of all.
  const places = [...rooms.places].sort((one, other) => other.path.length - one.path.length);
  const current = places.find((one) => place.value.startsWith(one.path)) ?? places[0];
  const isChat = current?.path === "/";
  return html`
    <a class="skip" href="#main" onClick=${focusMain}>${t("shell.skip")}</a>
    <header class="top">
      <button class="icon narrow-only" aria-label=${t("shell.conversations")} aria-expanded=${open === "side"} onClick=${() => toggle("side")}><${Icon} name="menu" /></button>
      <a class="name" href="#/"><span class="mark" aria-hidden="true"></span>Switchboard</a>
      ${rooms.top.map((View) => html`<${View} />`)}
      <nav aria-label=${t("shell.pages")}>
        ${rooms.places
          .filter((one) => one.title && (one === current || one.isListed?.() !== false))
          .map((one) => html`<a href=${`#${one.path}`} aria-current=${one === current ? "page" : undefined}>${one.title}</a>`)}
        <a href="docs">${t("shell.api")}</a>
      </nav>
      <${ThemeButton} />
      ${isChat && html`<button class="icon panel-button" aria-label=${t("shell.behind")} aria-expanded=${open === "panel"} onClick=${() => toggle("panel")}><${Icon} name="panel-right" /></button>`}
    </header>
    <div class=${`columns${isChat ? "" : " one"}`}>
      <aside class=${`side${open === "side" ? " open" : ""}`} aria-label=${t("shell.conversations")}>${rooms.side.map((View) => html`<${View} />`)}</aside>
      <main id="main" tabindex="-1">${rooms.notices.map((View) => html`<${View} />`)}${current && html`<${current.view} />`}</main>
      ${isChat && html`<${Panel} isOpen=${open === "panel"} />`}
      ${open && html`<button class="shade" aria-label=${t("shell.close")} onClick=${() => (drawer.value = "")}></button>`}
    </div>
  `;
}

/** @param {"side" | "panel"} which */
function toggle(which) {
  drawer.value = drawer.value === which ? "" : which;
}

/** @param {Event} event */
function focusMain(event) {
  event.preventDefault(); // the part behind # is the open page
  document.getElementById("main")?.focus();
}

/** Short, since all tabs stand in one line. */
const COUNT = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 2 });

/** @param {{ isOpen: boolean }} props */
function Panel({ isOpen }) {
  const current = rooms.tabs.find((tab) => tab.id === panelTab.value) ?? rooms.tabs[0];
  if (!current) return null;
  return html`
    <aside class=${`panel${isOpen ? " open" : ""}`} aria-label=${t("shell.behind")}>
      <div class="tabs" role="tablist" aria-label=${t("shell.behind")} onKeyDown=${moveTab}>
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
      </div>
      <div id="panel" role="tabpanel" aria-labelledby=${`tab-${current.id}`} tabindex="0"><${current.view} /></div>
    </aside>
  `;
}

/**
 * Move between tabs with the arrows (WAI-ARIA Authoring Practices, tabs).
 * @param {KeyboardEvent} event
 */
function moveTab(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const current = rooms.tabs.findIndex((tab) => tab.id === (panelTab.value || rooms.tabs[0]?.id));
  const next = rooms.tabs[(current + step + rooms.tabs.length) % rooms.tabs.length];
  if (!next) return;
  panelTab.value = next.id;
  document.getElementById(`tab-${next.id}`)?.focus();
}
