/** What the app says of itself in the page: how callers sign in, and whether no language model answers. */

/** @typedef {{ auth_mode: "none" | "easy-auth" | "bearer" | "api-key", client_id: string | null, authority: string, quotes_only: boolean }} About */

/** @type {About} */
export const about = JSON.parse(document.getElementById("about")?.textContent ?? "{}");
