/** The page of approvals: what waits for the reader's consent, and for approvers what waits for anybody's. */
import { mustSignIn } from "../api/http.js";
import { ErrorText } from "../error_text.js";
import { html, useEffect, useSignal } from "../html.js";
import { place } from "../shell.js";
import { t } from "../texts.js";
import { openApprovals, readApproval } from "./approvals.js";
import { ConsentCard } from "./consent.js";

/** @typedef {import("./approvals.js").Approval} Approval */

/** How often the page looks what has come of what was allowed. */
const LOOK_MS = 1_500;

export function View() {
  const named = /^\/approvals\/([0-9a-f-]{32,36})$/.exec(place.value)?.[1] ?? "";
  const approvals = useSignal(/** @type {Approval[] | null} */ (null));
  const problem = useSignal("");
  const read = async () => {
    try {
      approvals.value = named ? [await readApproval(named)] : await openApprovals();
      problem.value = "";
    } catch (error) {
      approvals.value = null;
      problem.value = error instanceof Error ? error.message : String(error);
    }
  };
  useEffect(() => void read(), [named, mustSignIn.value]);
  /** @param {Approval} found */
  const take = (found) => (approvals.value = approvals.value?.map((one) => (one.id === found.id ? found : one)) ?? null);
  const going = (approvals.value ?? []).filter(({ state }) => state === "claimed" || state === "executing").map(({ id }) => id);
  useEffect(() => {
    if (!going.length) return undefined;
    const clock = setInterval(() => {
      if (!document.hidden) for (const id of going) readApproval(id).then(take, () => {});
    }, LOOK_MS);
    return () => clearInterval(clock);
  }, [going.join()]);
  return html`<div class="page approvals">
    <h1>${t("tools.title")}</h1>
    <p class="quiet">${t("tools.about")}</p>
    ${problem.value && !mustSignIn.value && html`<div class="bad" role="alert"><${ErrorText} text=${problem.value} /></div>`}
    ${approvals.value?.length === 0 && html`<p class="empty">${t("tools.nothing")}</p>`}
    ${(approvals.value ?? []).map((one) => html`<${ConsentCard} key=${one.id} asked=${one} decided=${take} />`)}
    <p>${named ? html`<a href="#/approvals">${t("tools.all")}</a>` : html`<button type="button" onClick=${read}>${t("tools.again")}</button>`}</p>
  </div>`;
}
