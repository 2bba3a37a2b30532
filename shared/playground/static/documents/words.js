/** What is told of a document, in words. */
import { number, t } from "../texts.js";

/** By the ends of names. @type {Record<string, string>} */
const KINDS = {
  csv: t("kind.csv"), docm: t("kind.word"), docx: t("kind.word"), eml: t("kind.mail"), epub: t("kind.book"), gif: t("kind.image"), htm: t("kind.web"), html: t("kind.web"),
  jpeg: t("kind.image"), jpg: t("kind.image"), json: "JSON", markdown: "Markdown", md: "Markdown", msg: t("kind.mail"), odp: t("kind.slides"), ods: t("kind.sheet"),
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

/** What the app calls the parts that were not read. @type {Record<string, string>} */
const PARTS = {
  "hidden slides": t("leftOut.slides"),
  "hidden sheet": t("leftOut.sheet"),
  "pages without text": t("leftOut.pages"),
  "results of cells": t("leftOut.results"),
  attachment: t("leftOut.attachment"),
};

/** What was not read of a document: parts of it, with their names or numbers. @param {string} parts */
export const leftOut = (parts) => parts.replace(/(^|, )(hidden slides|hidden sheet|pages without text|results of cells|attachment)\b/g, (_, before, part) => before + PARTS[part]);
