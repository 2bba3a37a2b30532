/** Runs a question of the team in the background: asked once, polled until it has ended (`Prefer: respond-async`). */
import { ApiError, request } from "../api/http.js";
import { html, signal, useSignal } from "../html.js";
import { overrides, selected } from "../state.js";

/** @typedef {{ name: string, text: string, problem: string }} Said */

const LONGEST_WAIT_SECONDS = 70; // for a budget of requests a minute; one of a day is an error
/** The batch that runs or ran last; it goes on while other tabs are open.
 * @type {import("../types.js").Signal<{ question: string, said: Said[], state: "running" | "done" | "failed" | "stopped", problem: string, path: string } | null>} */
const batch = signal(null);

/** How many have been started here: only the last is shown. */
let runs = 0;

export function Background() {
  const question = useSignal("");
  const current = batch.value;
  const asked = question.value || selected.value?.question || "";
  /** @param {Event} event */
  const start = (event) => {
    event.preventDefault();
    if (asked.trim()) run(asked);
  };
  return html`
    <section class="background" aria-label="Run in the background">
      <h2 class="kind">Run in the background</h2>
      <form onSubmit=${start}>
        <label>Question for the team
          <textarea rows="2" value=${asked} onInput=${(/** @type {any} */ event) => (question.value = event.currentTarget.value)}></textarea>
        </label>
        <button class="primary" disabled=${!asked.trim() || current?.state === "running"}>Run</button>
        ${current?.state === "running" && html`<button type="button" onClick=${stop}>Stop</button>`}
      </form>
      ${current && html`<${Result} current=${current} />`}
    </section>
  `;
}

/** @param {{ current: NonNullable<typeof batch.value> }} props */
function Result({ current }) {
  const words = { running: "Running: you may ask other questions meanwhile.", done: "Done.", failed: "Failed.", stopped: "Stopped." };
  return html`
    <p role="status">${words[current.state]} ${current.said.length} ${current.said.length === 1 ? "message" : "messages"} so far for “${current.question}”.</p>
    ${current.state === "running" && html`<progress aria-label="The batch is running"></progress>`}
    ${current.problem && html`<p class="notice bad" role="alert">${current.problem}</p>`}
    ${current.said.map((said) => html`<article class="card said-by"><h3>${said.name}</h3><p class=${said.problem ? "bad" : "said"}>${said.text}</p></article>`)}
  `;
}

/** @param {string} question */
async function run(question) {
  const mine = ++runs;
  batch.value = { question, said: [], state: "running", problem: "", path: "" };
  const isRunning = () => runs === mine && batch.value?.state === "running";
  /** @param {Partial<NonNullable<typeof batch.value>>} more */
  const tell = (more) => {
    if (batch.value && isRunning()) batch.value = { ...batch.value, ...more };
  };
  try {
    const { show_progress: _, ...asked } = overrides.value;
    let response = await request("/ai-chat/multi-agent-chat/batch", {
      method: "POST",
      headers: { "content-type": "application/json", prefer: "respond-async" },
      body: JSON.stringify({ messages: [{ role: "user", content: question }], context: { overrides: asked } }),
    });
    const id = /\/batches\/([\w-]+)$/u.exec(response.headers.get("location") ?? "")?.[1];
    const path = `/multi-agent-chat/batches/${id}`;
    if (id && !isRunning()) await remove(path); // it was stopped before it had an address
    if (id) tell({ path });
    for (let seconds = 1; response.status === 202; seconds += 1) {
      await pause(Math.min(seconds, Number(response.headers.get("retry-after")) || 1));
      if (!isRunning()) return;
      response = await poll(path);
      if (response.status === 202) tell({ said: saidIn((await response.clone().json()).messages) });
    }
    tell({ said: saidIn(await response.json()), state: "done" });
  } catch (error) {
    tell({ state: "failed", problem: error instanceof ApiError ? error.message : "The answer could not be read. Try again." });
  }
}

async function stop() {
  const path = batch.value?.path;
  if (batch.value) batch.value = { ...batch.value, state: "stopped" };
  if (path) await remove(path);
}

/** @param {string} path */
const remove = (path) => request(path, { method: "DELETE" }).catch(() => {}); // it may have ended meanwhile

/** @param {number} seconds */
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Ask for the batch. A poll counts in the caller's budget: one that is refused comes again, and the batch goes on.
 * @param {string} path
 * @returns {Promise<Response>}
 */
async function poll(path) {
  try {
    return await request(path);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 429 || error.retryAfter > LONGEST_WAIT_SECONDS) throw error;
    await pause(error.retryAfter);
    return poll(path);
  }
}

/** @param {any} messages @returns {Said[]} */
function saidIn(messages) {
  if (!Array.isArray(messages)) return [];
  return messages.map((one) => ({
    name: String(one?.context?.agent ?? "Agent"),
    text: String(one?.message?.content ?? ""),
    problem: String(one?.context?.error ?? ""),
  }));
}
