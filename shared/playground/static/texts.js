/**
 * The page's texts, in the reader's language: `t("chats.new")`.
 *
 * A table in `texts/` has those of the page for readers, one in `texts/workbench/` those that only the workbench shows:
 * `{name}` stands for a value, and a text that counts is an object with a form for each category of its language's plurals
 * (CLDR), of which `n` chooses one. A language is a file in each, and a name here.
 */
import { about, isWorkbench } from "./about.js";
import { h } from "./vendor/preact.js";
import { kept, keep } from "./storage.js";

/** @typedef {keyof typeof import("./texts/en.js").default | keyof typeof import("./texts/workbench/en.js").default} Key */
/** @typedef {{ other: string, zero?: string, one?: string, two?: string, few?: string, many?: string }} Counted */
/** @typedef {Record<keyof typeof import("./texts/en.js").default, string | Counted>} Table */
/** @typedef {Record<keyof typeof import("./texts/workbench/en.js").default, string | Counted>} WorkbenchTable */

const KEY = "language";

/** Each language by its tag, with its own name. @type {Record<string, string>} */
export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", ar: "العربية", ja: "日本語" };
const FROM_RIGHT = new Set(["ar", "fa", "he", "ur"]);

/** The tag that the reader has chosen; empty: the browser says. */
export const chosenLanguage = LANGUAGES[kept(KEY) ?? ""] ? (kept(KEY) ?? "") : "";

/** The language of numbers and dates, which may name a country: `de-CH`. */
export const locale = languageOf([...(chosenLanguage ? [chosenLanguage] : []), ...navigator.languages].filter(isTag));

/** The language of the texts. */
export const language = tagOf(locale);

/** @type {Record<string, string | Counted>} */
const table = Object.assign({}, ...(await Promise.all((isWorkbench ? ["", "workbench/"] : [""]).map(load))));
const plurals = new Intl.PluralRules(language);
const days = new Intl.DateTimeFormat(locale, { dateStyle: "long" });
document.documentElement.lang = language;
document.documentElement.dir = FROM_RIGHT.has(language) ? "rtl" : "ltr";
document.title = document.title.replace("Switchboard", nameOfApp());

/** @param {string} folder */
async function load(folder) {
  // A table that cannot be loaded: the page is of more use than its language.
  return (await import(`./texts/${folder}${language}.js`).catch(() => import(`./texts/${folder}en.js`))).default;
}

/** Whether Intl takes a tag: a browser may name the system's, such as `en-US@posix`. @param {string} tag */
function isTag(tag) {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}

/** @param {string} tag */
function tagOf(tag) {
  return tag.split("-")[0]?.toLowerCase() ?? "";
}

/** The first tag of which there are texts. @param {readonly string[]} wanted */
function languageOf(wanted) {
  const first = wanted.find((tag) => LANGUAGES[tagOf(tag)]) ?? "en";
  // Of one language the browser may know the country.
  return wanted.find((tag) => tagOf(tag) === tagOf(first) && tag.includes("-")) ?? first;
}

/**
 * Let the page have another language, from the next load on.
 * @param {string} tag empty: that of the browser.
 */
export function chooseLanguage(tag) {
  keep(KEY, tag || null);
  location.reload();
}

/**
 * What the organisation says in the reader's language, else in English, else in the first one of its file.
 * @param {import("./about.js").Said | undefined} said
 * @returns {string} empty: nothing.
 */
export function inLanguage(said = "") {
  if (typeof said === "string") return said;
  return said[locale] ?? said[language] ?? said.en ?? Object.values(said)[0] ?? "";
}

/** What the organisation calls the page. */
export function nameOfApp() {
  return inLanguage(about.page.name) || "Switchboard";
}

/**
 * A text.
 * @param {Key} key
 * @param {Record<string, string | number>} [values] numbers are written as the language writes them; `n` chooses the plural.
 */
export function t(key, values = {}) {
  return patternOf(key, values).replace(/\{(\w+)\}/g, (whole, name) => shown(values[name] ?? whole));
}

/**
 * A text as children of an element: what stands between backticks is code, and values may be elements.
 * @param {Key} key
 * @param {Record<string, any>} [values]
 * @returns {any[]}
 */
export function rich(key, values = {}) {
  return patternOf(key, values)
    .split(/`([^`]*)`|\{(\w+)\}/)
    .map((part, index) => (index % 3 === 1 ? part && h("code", null, part) : index % 3 === 2 ? part && shown(values[part]) : part));
}

/** Whether there is a text, of which a part comes from the app. @param {string} key */
export const hasText = (key) => key in table;

/** @param {Key} key @param {Record<string, any>} values @returns {string} */
function patternOf(key, { n }) {
  const text = table[key] ?? key; // a part of the workbench has asked, on the page for readers
  return typeof text === "string" ? text : (text[plurals.select(Number(n))] ?? text.other);
}

/** @param {any} value */
const shown = (value) => (typeof value === "number" ? number(value) : value);

/**
 * A number as the language writes it.
 * @param {number} value
 * @param {number} [digits] after the point, as many; else as many as are needed.
 */
export const number = (value, digits) =>
  value.toLocaleString(locale, digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A day in words. @param {string} moment */
export const day = (moment) => days.format(new Date(moment));
