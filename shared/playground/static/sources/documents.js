/** Fetches the document of a source, as what can be shown of it. */
import { request } from "../api/http.js";
import { placeOf } from "./names.js";
import { cleanHtml, cleanMarkdown } from "./clean.js";
import { t } from "../texts.js";

const LARGEST_TEXT = 2_000_000;
const LARGEST_PDF = 60_000_000;
const TEXTS = new Set(["txt", "csv", "tsv", "json", "log", "yaml", "yml", "xml", "svg", "eml"]);

/**
 * @typedef {{ kind: "pdf", data: Uint8Array, page: number }} PdfDocument
 * @typedef {{ kind: "elements", content: DocumentFragment }} ElementsDocument
 * @typedef {{ kind: "text", text: string, isCut: boolean }} TextDocument
 * @typedef {{ kind: "image", url: string }} ImageDocument
 * @typedef {{ kind: "passage", why: string }} PassageOnly
 * @typedef {PdfDocument | ElementsDocument | TextDocument | ImageDocument | PassageOnly} Shown
 */

/**
 * The route of a document. It is made from the name and never from a URL that came with the answer.
 * @param {string} name
 */
export function pathOf(name) {
  return `/content/${name.split("/").map(encodeURIComponent).join("/")}`;
}

/**
 * @param {import("../types.js").Source} source
 * @param {AbortSignal} signal
 * @returns {Promise<Shown>}
 * @throws {import("../api/http.js").ApiError} it is not there, or cannot be fetched.
 */
export async function load(source, signal) {
  const { name, page } = placeOf(source.id);
  const suffix = /\.([a-z0-9]{1,8})$/iu.exec(name)?.[1]?.toLowerCase() ?? "";
  const kind = kindOf(suffix);
  if (source.file && !source.file.data) return { kind: "passage", why: t("sources.notKept") };
  if (kind === "passage") return { kind, why: source.file ? t("sources.notShown") : t("sources.asText") };
  const response = await contentOf(source, signal);
  const size = Number(response.headers.get("content-length"));
  if (kind === "pdf") {
    if (size > LARGEST_PDF) return await tooLarge(response);
    return { kind, data: new Uint8Array(await response.arrayBuffer()), page: page || 1 };
  }
  if (kind === "image") {
    const type = response.headers.get("content-type") ?? "";
    return { kind, url: URL.createObjectURL(new Blob([await response.arrayBuffer()], { type })) };
  }
  if (kind !== "text" && size > LARGEST_TEXT) return await tooLarge(response);
  const { text, isCut } = await textOf(response);
  if (kind === "text") return { kind, text, isCut };
  return { kind: "elements", content: kind === "html" ? cleanHtml(text) : await cleanMarkdown(text) };
}

/**
 * @param {string} suffix
 * @returns {"pdf" | "image" | "html" | "markdown" | "text" | "passage"}
 */
function kindOf(suffix) {
  if (suffix === "pdf") return "pdf";
  if (["png", "jpg", "jpeg", "gif", "webp"].includes(suffix)) return "image";
  if (["html", "htm", "xhtml"].includes(suffix)) return "html";
  if (["md", "markdown"].includes(suffix)) return "markdown";
  return TEXTS.has(suffix) ? "text" : "passage";
}

/** @param {Response} response @returns {Promise<PassageOnly>} */
async function tooLarge(response) {
  await response.body?.cancel();
  return { kind: "passage", why: t("sources.tooLarge") };
}

/**
 * The text of a response, or its beginning. The app names a charset only where it is UTF-8 or UTF-16; browsers take the
 * rest for Windows-1252.
 * @param {Response} response
 */
async function textOf(response) {
  const charset = /charset="?(utf-(?:8|16[bl]e))/iu.exec(response.headers.get("content-type") ?? "")?.[1];
  const data = await response.arrayBuffer();
  const isCut = data.byteLength > LARGEST_TEXT;
  const decoder = new TextDecoder(charset ?? "windows-1252");
  return { text: decoder.decode(isCut ? data.slice(0, LARGEST_TEXT) : data), isCut };
}

/**
 * The bytes of a source: of a file that the reader has attached, or of a document of the app.
 * @param {Pick<import("../types.js").Source, "id" | "file">} source
 * @param {AbortSignal} [signal]
 */
async function contentOf({ id, file }, signal) {
  if (!file) return await request(pathOf(placeOf(id).name), signal ? { signal } : {});
  const bytes = Uint8Array.from(atob(file.data), (sign) => sign.charCodeAt(0));
  return new Response(bytes, { headers: { "content-type": file.type.startsWith("text/") ? `${file.type}; charset=utf-8` : file.type } });
}

/**
 * Save the file of a source. A link would not send the caller's key.
 * @param {Pick<import("../types.js").Source, "id" | "file">} source
 */
export async function download(source) {
  const { name } = placeOf(source.id);
  const response = await contentOf(source);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name.split("/").at(-1) ?? "document";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
