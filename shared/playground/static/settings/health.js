/** The health of each part of the app, with what to set next. */
import { apiUrl } from "../api/http.js";
import { html, signal, useEffect } from "../html.js";
import { health } from "../state.js";
import { t } from "../texts.js";

const problem = signal("");
const asking = signal(false);

/** What each state means. @type {Record<string, string>} */
const MEANINGS = {
  ok: t("health.ok"),
  degraded: t("health.degraded"),
  unavailable: t("health.unavailable"),
};

/** Ask how the app is. The route is open to all, and has an answer also where a part fails (503). */
async function refresh() {
  asking.value = true;
  try {
    health.value = await (await fetch(apiUrl("/health"))).json();
    problem.value = "";
  } catch {
    problem.value = navigator.onLine ? t("http.noAnswer") : t("http.offline");
  }
  asking.value = false;
}

export function Health() {
  useEffect(() => {
    refresh();
  }, []);
  const answer = health.value;
  return html`<section aria-labelledby="health">
    <h2 id="health">${t("health.title")}</h2>
    <p role="status" aria-label=${t("health.title")}>
      ${problem.value
        ? html`<strong class="bad">${problem.value}</strong>`
        : answer
          ? html`<strong class=${answer.status === "ok" ? "good" : "bad"}>${answer.status}</strong>
              <span> ${answer.error ?? MEANINGS[answer.status] ?? ""}</span>`
          : t("documents.asking")}
    </p>
    ${answer?.parts &&
    html`<ul class="parts">
      ${Object.entries(answer.parts).map(([name, part]) => html`<${Part} name=${name} part=${part} />`)}
    </ul>`}
    <button type="button" disabled=${asking.value} onClick=${refresh}>${t("chat.tryAgain")}</button>
  </section>`;
}

/** @param {{ name: string, part: any }} props */
function Part({ name, part }) {
  const { kind, ok, detail, ...facts } = part;
  return html`<li class="card" aria-label=${name}>
    <div class="part-head">
      <strong>${name}</strong> <code>${kind}</code>
      <span class=${ok ? "good" : "bad"}>${ok ? "✓" : "✗"}</span>
    </div>
    <p>${detail}</p>
    ${Object.keys(facts).length > 0 &&
    html`<p class="quiet">
      ${Object.entries(facts).map(([fact, value]) => `${fact.replaceAll("_", " ")}: ${shown(value)}`).join(" · ")}
    </p>`}
  </li>`;
}

/** @param {unknown} value */
function shown(value) {
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
