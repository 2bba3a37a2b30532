/** The health of each part of the app, with what to set next. */
import { apiUrl } from "../api/http.js";
import { html, signal, useEffect } from "../html.js";
import { health } from "../state.js";

const problem = signal("");
const asking = signal(false);

/** What each state means. @type {Record<string, string>} */
const MEANINGS = {
  ok: "Everything works.",
  degraded: "The app answers, but a part does not work.",
  unavailable: "The app cannot answer: a part that it needs is not usable.",
};

/** Ask how the app is. The route is open to all, and has an answer also where a part fails (503). */
async function refresh() {
  asking.value = true;
  try {
    health.value = await (await fetch(apiUrl("/health"))).json();
    problem.value = "";
  } catch {
    problem.value = navigator.onLine ? "The app did not answer. Is it running?" : "You are offline.";
  }
  asking.value = false;
}

export function Health() {
  useEffect(() => {
    refresh();
  }, []);
  const answer = health.value;
  return html`<section aria-labelledby="health">
    <h2 id="health">Health</h2>
    <p role="status" aria-label="Health">
      ${problem.value
        ? html`<strong class="bad">${problem.value}</strong>`
        : answer
          ? html`<strong class=${answer.status === "ok" ? "good" : "bad"}>${answer.status}</strong>
              <span> ${answer.error ?? MEANINGS[answer.status] ?? ""}</span>`
          : "Asking …"}
    </p>
    ${answer?.parts &&
    html`<ul class="parts">
      ${Object.entries(answer.parts).map(([name, part]) => html`<${Part} name=${name} part=${part} />`)}
    </ul>`}
    <button type="button" disabled=${asking.value} onClick=${refresh}>Ask again</button>
  </section>`;
}

/** @param {{ name: string, part: any }} props */
function Part({ name, part }) {
  const { kind, ok, detail, ...facts } = part;
  return html`<li class="card" aria-label=${name}>
    <div class="part-head">
      <strong>${name}</strong> <code>${kind}</code>
      <span class=${ok ? "good" : "bad"}>${ok ? "usable" : "not usable"}</span>
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
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
