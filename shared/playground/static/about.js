/** What the app says of itself in the page: how callers sign in. */

/** @typedef {{ auth_mode: "none" | "easy-auth" | "bearer" | "api-key", client_id: string | null, authority: string }} About */

/** @type {About} */
export const about = JSON.parse(document.getElementById("about")?.textContent ?? "{}");
