/**
 * The page's texts, in the reader's language: `t("chats.new")`.
 *
 * A table in `texts/` has them all: `{name}` stands for a value, and a text that counts is an object with a form for each
 * category of its language's plurals (CLDR), of which `n` chooses one. A language is one file there, and a line here.
 */
import { h } from "./vendor/preact.js";
import { kept, keep } from "./storage.js";

/** @typedef {keyof typeof import("./texts/en.js").default} Key */
/** @typedef {{ other: string, zero?: string, one?: string, two?: string, few?: string, many?: string }} Counted */
/** @typedef {Record<Key, string | Counted>} Table */
/** @typedef {{ name: string, load: () => Promise<{ default: Table }> }} Language */

const KEY = "language";
const english = () => import("./texts/en.js");

/** Each language by its tag, with its own name. @type {Record<string, Language>} */
export const LANGUAGES = {
  en: { name: "English", load: english },
  de: { name: "Deutsch", load: () => import("./texts/de.js") },
  fr: { name: "Français", load: () => import("./texts/fr.js") },
  es: { name: "Español", load: () => import("./texts/es.js") },
};

/** The tag that the reader has chosen; empty: the browser says. */
export const chosenLanguage = LANGUAGES[kept(KEY) ?? ""] ? (kept(KEY) ?? "") : "";

/** The language of numbers and dates, which may name a country: `de-CH`. */
export const locale = languageOf([...(chosenLanguage ? [chosenLanguage] : []), ...navigator.languages].filter(isTag));

/** The language of the texts. */
export const language = tagOf(locale);

// A table that cannot be loaded: the page is of more use than its language.
/** @type {{ default: Table }} */
const { default: table } = await (LANGUAGES[language]?.load ?? english)().catch(english);
const plurals = new Intl.PluralRules(language);
const days = new Intl.DateTimeFormat(locale, { dateStyle: "long" });
document.documentElement.lang = language;

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

/** @param {Key} key @param {Record<string, any>} values */
function patternOf(key, { n }) {
  const text = table[key];
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
