/** Files beside a question, within the bounds of the app: they travel in the JSON of the request. */
import { t } from "../texts.js";

/** @typedef {import("../types.js").Attachment} Attachment */

export const MOST_FILES = 10;
const MOST_TOGETHER = 5_000_000;
const LARGE_IMAGE = 350_000;
const LONGEST_SIDE = 1600;
const IMAGES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/**
 * Read files; large images are made smaller.
 * @param {Iterable<File>} files
 * @param {Attachment[]} already
 * @returns {Promise<{ read: Attachment[], refused: string[] }>} the files, and a sentence for each that cannot be sent.
 */
export async function readFiles(files, already) {
  const read = [];
  const refused = [];
  let total = already.reduce((sum, file) => sum + file.size, 0);
  for (const file of files) {
    const name = file.name || "image.png";
    if (already.length + read.length >= MOST_FILES) {
      refused.push(t("attach.tooMany", { name, most: MOST_FILES }));
      continue;
    }
    try {
      const small = await madeSmaller(file);
      if (!small.size) refused.push(t("attach.empty", { name }));
      else if (total + small.size > MOST_TOGETHER) {
        refused.push(t("attach.tooLarge", { name, most: inKilobytes(MOST_TOGETHER), size: inKilobytes(small.size) }));
      } else {
        total += small.size;
        read.push({ name, type: small.type || "application/octet-stream", size: small.size, data: await inBase64(small) });
      }
    } catch {
      refused.push(t("attach.unreadable", { name }));
    }
  }
  return { read, refused };
}

/** @param {number} bytes */
export const inKilobytes = (bytes) => t("size.kB", { n: Math.max(1, Math.round(bytes / 1000)) });

/** An image that is too large, with fewer pixels; anything else as it is.
 * @param {Blob} file */
async function madeSmaller(file) {
  if (!IMAGES.includes(file.type) || file.size <= LARGE_IMAGE) return file;
  const image = await createImageBitmap(file);
  const scale = Math.min(1, LONGEST_SIDE / Math.max(image.width, image.height));
  const canvas = new OffscreenCanvas(Math.round(image.width * scale), Math.round(image.height * scale));
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  image.close();
  return canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 });
}

/** @param {Blob} file @returns {Promise<string>} */
function inBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
