/** What is told of a document, in words. */
import { number, t } from "../texts.js";

/** By the ends of names. @type {Record<string, string>} */
const KINDS = {
  csv: t("kind.csv"), docx: t("kind.word"), eml: t("kind.mail"), epub: t("kind.book"), gif: t("kind.image"), htm: t("kind.web"), html: t("kind.web"),
  jpeg: t("kind.image"), jpg: t("kind.image"), json: "JSON", markdown: "Markdown", md: "Markdown", odp: t("kind.slides"), ods: t("kind.sheet"),
  odt: t("kind.document"), pdf: "PDF", png: t("kind.image"), pptm: t("kind.powerpoint"), pptx: t("kind.powerpoint"), rtf: t("kind.document"),
  svg: t("kind.drawing"), tif: t("kind.image"), tiff: t("kind.image"), tsv: t("kind.tsv"), txt: t("kind.text"), webp: t("kind.image"), xhtml: t("kind.web"),
  xls: t("kind.excel"), xlsm: t("kind.excel"), xlsx: t("kind.excel"), xml: "XML",
};

/** @param {string} name */
export function kindOf(name) {
  const [, suffix = ""] = /\.([^./]{1,10})$/.exec(name) ?? [];
  return KINDS[suffix.toLowerCase()] ?? (suffix ? t("kind.other", { suffix: suffix.toUpperCase() }) : t("kind.file"));
}

/** @param {number} bytes */
export function sizeOf(bytes) {
  if (bytes < 1_000) return t("size.bytes", { n: bytes });
  return bytes < 1_000_000 ? t("size.kB", { n: Math.round(bytes / 1_000) }) : t("size.MB", { n: number(bytes / 1_000_000, 1) });
}
