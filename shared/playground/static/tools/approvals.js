/** Calls of tools that wait for a person's consent, in the app, and what has become of them, in words. */
import { request } from "../api/http.js";
import { t } from "../texts.js";

/**
 * As `GET /approvals/{id}` answers.
 * @typedef {{
 *   id: string, state: string, agent: string, server: string, tool: string, description: string, arguments: string,
 *   origins?: Record<string, string>,
 *   expires: string, asker?: string, decided_by?: string | null, run?: string, result?: string | null,
 * }} Approval
 */

/** What has become of a call. @type {Record<string, string>} */
const OUTCOMES = {
  running: t("tools.running"),
  open: t("tools.open"),
  claimed: t("tools.claimed"),
  executing: t("tools.executing"),
  executed: t("tools.executed"),
  done: t("team.done"),
  failed: t("turn.failed"),
  denied: t("tools.denied"),
  expired: t("tools.expired"),
  abandoned: t("tools.abandoned"),
  unknown: t("tools.unknown"),
  not_run: t("tools.notRun"),
};

/** @param {string} state of a call or of an approval. */
export const outcomeOf = (state) => OUTCOMES[state] ?? state;

/** @returns {Promise<Approval[]>} */
export const openApprovals = async () => (await (await request("/approvals")).json()).approvals;

/** @param {string} id @returns {Promise<Approval>} */
export const readApproval = async (id) => (await request(`/approvals/${encodeURIComponent(id)}`)).json();

/** @param {string} id @param {boolean} approved @param {string} reason @returns {Promise<Approval>} */
export async function decide(id, approved, reason) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ approved, reason });
  return (await request(`/approvals/${encodeURIComponent(id)}`, { method: "POST", headers, body })).json();
}
