/** What went wrong, beside a way to go on. */
import { html, useEffect, useSignal } from "../html.js";
import { mustSignIn } from "../api/http.js";
import { ErrorText } from "../error_text.js";
import { retry } from "./asking.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").Turn} Turn */

/** @param {{ turn: Turn }} props */
export function ProblemCard({ turn }) {
  const problem = turn.error.value;
  const wait = useSignal(problem?.retryAfter ?? 0);
  useEffect(() => {
    if (!problem?.retryAfter) return undefined;
    const end = performance.now() + problem.retryAfter * 1000;
    const clock = setInterval(() => {
      wait.value = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      if (!wait.value) clearInterval(clock);
    }, 250);
    return () => clearInterval(clock);
  }, [problem]);
  if (!problem) return null;
  return html`<div class="problem" role="alert">
    <${ErrorText} text=${problem.message} more=${advice(problem)} />
    ${wait.value > 0 && html`<p class="quiet" aria-hidden="true">${t("problem.wait", { n: wait.value })}</p>`}
    ${problem.code !== "content_filter" && html`<button disabled=${wait.value > 0} onClick=${() => retry(turn)}>${t("chat.tryAgain")}</button>`}
  </div>`;
}

/** @param {import("../types.js").Problem} problem */
function advice({ code, status }) {
  if (code === "content_filter") return t("problem.edit");
  return status === 401 && mustSignIn.value ? t("problem.kept") : "";
}
