/** What the app says of itself in the page: how callers sign in, what the organisation says, and which page it is. */
import { kept } from "./storage.js";

/** A text, or one for each language by its tag. @typedef {string | Record<string, string>} Said */
/**
 * What the file of `PAGE_FILE` says; `logo` is the image as a `data:` URL.
 * @typedef {{ name?: Said, logo?: string, color?: string, welcome?: Said, starters?: Said[], help_url?: Said, legal?: Said, contact?: Said }} Organisation
 */
/**
 * @typedef {{
 *   auth_mode: "none" | "easy-auth" | "bearer" | "api-key", client_id: string | null, authority: string, quotes_only: boolean,
 *   workbench: boolean, page: Organisation,
 * }} About
 */

/** @type {About} */
export const about = JSON.parse(document.getElementById("about")?.textContent ?? "{}");

/** Whether this is the workbench, which shows how answers come about, and not the page for readers. */
export const isWorkbench = about.workbench && kept("page") !== "readers";
