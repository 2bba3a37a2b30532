/** What is told of a document, in words. */

/** By the ends of names. @type {Record<string, string>} */
const KINDS = {
  csv: "Table (CSV)", docx: "Word document", eml: "E-mail", epub: "E-book", gif: "Image", htm: "Web page", html: "Web page",
  jpeg: "Image", jpg: "Image", json: "JSON", markdown: "Markdown", md: "Markdown", odp: "Slides", ods: "Spreadsheet",
  odt: "Text document", pdf: "PDF", png: "Image", pptm: "PowerPoint slides", pptx: "PowerPoint slides", rtf: "Text document",
  svg: "Drawing", tif: "Image", tiff: "Image", tsv: "Table (TSV)", txt: "Text", webp: "Image", xhtml: "Web page",
  xls: "Excel workbook", xlsm: "Excel workbook", xlsx: "Excel workbook", xml: "XML",
};

/** @param {string} name */
export function kindOf(name) {
  const [, suffix = ""] = /\.([^./]{1,10})$/.exec(name) ?? [];
  return KINDS[suffix.toLowerCase()] ?? (suffix ? `${suffix.toUpperCase()} file` : "File");
}

/** A day in words. @param {string} when */
export const dateOf = (when) => new Date(when).toLocaleDateString(undefined, { dateStyle: "long" });

/** @param {number} bytes */
export function sizeOf(bytes) {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
