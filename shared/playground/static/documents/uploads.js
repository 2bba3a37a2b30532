/** Uploads into the index: one at a time, each with its step. */
import { ApiError, request } from "../api/http.js";
import { told, withoutDetails } from "../error_text.js";
import { signal } from "../html.js";
import { language, t } from "../texts.js";

/** @template T @typedef {import("../types.js").Signal<T>} Signal */
/**
 * `taken`: there is a document of this name, and the reader has to say whether it is replaced.
 * @typedef {"waiting" | "sending" | "reading" | "embedding" | "writing" | "indexed" | "queued" | "taken" | "failed"} State
 */
/** @typedef {{ id: number, name: string, file: File, state: Signal<State>, detail: Signal<string> }} Upload */

/** @type {Signal<Upload[]>} */
export const uploads = signal([]);

let count = 0;
let last = Promise.resolve();

/** The states that end an upload, or wait for the reader. @type {Set<State>} */
export const ENDS = new Set(/** @type {State[]} */ (["indexed", "queued", "taken", "failed"]));

/**
 * Upload files, one after the other.
 * @param {Iterable<File>} files
 * @param {string} folder where they go; empty: to the top.
 * @param {() => void} onDone called after each.
 */
export function upload(files, folder, onDone) {
  const prefix = folder.trim().replace(/^\/+|\/+$/g, "");
  for (const file of files) {
    const name = prefix ? `${prefix}/${file.name}` : file.name;
    /** @type {Upload} */
    const one = { id: (count += 1), name, file, state: signal(/** @type {State} */ ("waiting")), detail: signal("") };
    uploads.value = [...uploads.value, one];
    enqueue(one, false, onDone);
  }
}

/** Upload a file in place of the document of its name. @param {Upload} one @param {() => void} onDone */
export function replace(one, onDone) {
  one.state.value = "waiting";
  one.detail.value = "";
  enqueue(one, true, onDone);
}

/** @param {Upload} one @param {boolean} overwrite @param {() => void} onDone */
function enqueue(one, overwrite, onDone) {
  last = last.then(() => send(one, overwrite)).then(onDone);
}

/** The path of a document's route. @param {string} name */
export const pathOf = (name) => `/documents/${name.split("/").map(encodeURIComponent).join("/")}`;

/** @param {Upload} one @param {boolean} overwrite */
async function send(one, overwrite) {
  one.state.value = "sending";
  try {
    const headers = { "content-type": "application/octet-stream", accept: "application/x-ndjson" };
    const init = { method: "PUT", headers, body: one.file };
    await follow(one, await request(`${pathOf(one.name)}?overwrite=${overwrite}`, init));
    if (!ENDS.has(one.state.value)) throw new ApiError(t("uploads.cutOff"));
  } catch (error) {
    const { message, status } = error instanceof ApiError ? error : new ApiError(t("uploads.unsent"));
    one.state.value = status === 409 ? "taken" : "failed";
    one.detail.value = withoutDetails(message);
  }
}

/** Read the steps of an upload, a line each. @param {Upload} one @param {Response} response */
async function follow(one, response) {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines.filter(Boolean)) {
      const { state, detail = "", ...beside } = JSON.parse(line);
      one.state.value = state;
      // Without a code it is the file that cannot be read; of one that is indexed the list says more.
      one.detail.value = state === "failed" ? withoutDetails(told(detail, { code: "unreadable", ...beside })) : language === "en" ? detail : "";
    }
    if (done) return;
  }
}
