/** Makes documents safe to show: a list of what may stay, and nothing that loads or runs. */
import DOMPurify from "../vendor/purify.js";
import { t } from "../texts.js";

const TAGS = (
  "a abbr address article aside b blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption " +
  "figure footer h1 h2 h3 h4 h5 h6 header hr i ins kbd li main mark nav ol p pre q s samp section small span strong sub summary " +
  "sup table tbody td tfoot th thead time tr u ul var"
).split(" ");
const ATTRIBUTES = ["href", "title", "lang", "dir", "align", "colspan", "rowspan", "start", "open", "scope", "datetime"];

/**
 * The safe part of HTML, as elements. Images become their descriptions: one that is loaded tells its server who reads.
 * @param {string} dirty
 * @returns {DocumentFragment}
 */
export function cleanHtml(dirty) {
  const clean = DOMPurify.sanitize(dirty, {
    ALLOWED_TAGS: [...TAGS, "img"],
    ALLOWED_ATTR: [...ATTRIBUTES, "alt"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/iu,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const image of clean.querySelectorAll("img")) {
    image.replaceWith(`[${t("sources.image")}${image.getAttribute("alt") ? `: ${image.getAttribute("alt")}` : ""}]`);
  }
  for (const link of clean.querySelectorAll("a")) {
    if (!link.hasAttribute("href")) continue;
    link.setAttribute("target", "_blank");
    link.setAttribute("rel", "noopener noreferrer nofollow");
  }
  for (const block of clean.children) if (!block.hasAttribute("dir")) block.setAttribute("dir", "auto");
  return clean;
}

/**
 * The safe part of Markdown, as elements.
 * @param {string} text
 */
export async function cleanMarkdown(text) {
  const { marked } = await import("../vendor/marked.js");
  return cleanHtml(await marked.parse(text, { gfm: true, async: false }));
}
