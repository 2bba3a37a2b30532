/** What every question of this page sends along. */
import { ApiError, request } from "../api/http.js";
import { html, signal, useEffect } from "../html.js";
import { overrides, turns } from "../state.js";
import { fieldsOf, isRefused, typedOf, valueOf } from "./fields.js";
import { t } from "../texts.js";

/** @typedef {import("./fields.js").Field} Field */

const fields = signal(/** @type {Field[]} */ ([]));
const problem = signal("");
/** What the app says of a field, by its name. @type {import("../types.js").Signal<Record<string, string>>} */
const refusals = signal({});

/** An override in an error of the app, and what the app says of it. */
const SENTENCE = /(?:forwardedProps|context)\.overrides\.(\w+)[^:]*: (.*?)(?=\s(?:forwardedProps|context)\.|\s\(invocation |$)/gs;

async function load() {
  try {
    fields.value = fieldsOf(await (await request("/openapi.json")).json());
    problem.value = "";
    for (const field of fields.value) check(field, overrides.value[field.name]);
  } catch (error) {
    problem.value = error instanceof ApiError ? error.message : t("http.noAnswer");
  }
}

/** Which overrides an error of the app is about, and what it says of each. @param {string} message */
function refusalsIn(message) {
  return Object.fromEntries([...message.matchAll(SENTENCE)].map((found) => [found[1] ?? "", found[2] ?? ""]));
}

/**
 * Ask the app what is wrong with a value that its document refuses. A question without words costs nothing: it is refused
 * before anything answers it.
 * @param {Field} field
 * @param {unknown} value
 */
async function check(field, value) {
  const { name } = field;
  let said = "";
  if (value !== undefined && isRefused(field, value)) {
    const messages = [{ id: "1", role: "user", content: " " }];
    const body = JSON.stringify({ messages, forwardedProps: { overrides: { [name]: value } } });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body };
    const answer = await request("/ag-ui", init).catch((error) => error);
    if (answer instanceof ApiError) said = refusalsIn(answer.message)[name] ?? answer.message;
    if (typedOf(overrides.peek()[name]) !== typedOf(value)) return; // it has been changed since
  }
  refusals.value = { ...refusals.peek(), [name]: said };
}

/** @param {Field} field @param {string} typed */
function change(field, typed) {
  const value = valueOf(field, typed);
  const { [field.name]: _, ...others } = overrides.value;
  overrides.value = value === undefined ? others : { ...others, [field.name]: value };
  check(field, value);
}

function resetAll() {
  overrides.value = {};
  refusals.value = {};
}

export function Overrides() {
  useEffect(() => {
    load();
  }, []);
  const changed = Object.keys(overrides.value).length;
  const lastError = turns.value.at(-1)?.error.value?.message ?? "";
  const refused = { ...refusalsIn(lastError), ...refusals.value };
  return html`<section aria-labelledby="overrides">
    <h2 id="overrides">${t("overrides.title")}</h2>
    <p class="quiet">
      ${t("overrides.about")}
    </p>
    ${problem.value &&
    html`<p class="bad" role="alert">${problem.value} <button type="button" onClick=${load}>${t("chat.tryAgain")}</button></p>`}
    <p class="changes">
      <span role="status" aria-label=${t("overrides.changedLabel")}>${changed ? t("overrides.changedCount", { n: changed }) : t("overrides.unchanged")}</span>
      <button type="button" disabled=${!changed} onClick=${resetAll}>${t("overrides.resetAll")}</button>
    </p>
    <div class="fields">
      ${fields.value.map(
        (field) => html`<${Row} key=${field.name} field=${field} refusal=${refused[field.name] ?? ""} />`,
      )}
    </div>
  </section>`;
}

/** @param {{ field: Field, refusal: string }} props */
function Row({ field, refusal }) {
  const { name, meaning, bounds, kind } = field;
  const value = overrides.value[name];
  const isChanged = value !== undefined;
  const isWrong = isChanged && refusal !== "";
  const id = `override-${name}`;
  const described = isWrong ? `${id}-meaning ${id}-refusal` : `${id}-meaning`;
  return html`<div class=${`field${isChanged ? " changed" : ""}`}>
    <div class="field-name">
      <label for=${id}><code>${name}</code></label>
      ${isChanged &&
      html`<button type="button" class="plain" onClick=${() => change(field, "")}>${t("overrides.resetOne", { name })}</button>`}
    </div>
    <${Control} id=${id} field=${field} value=${typedOf(value)} described=${described} isWrong=${isWrong} />
    <p id=${`${id}-meaning`} class="quiet">
      ${withCode(meaning)} <span class="kind">${[kind === "area" ? "text" : kind, bounds].filter(Boolean).join(", ")}</span>
    </p>
    ${isWrong && html`<p id=${`${id}-refusal`} class="bad" role="alert">${refusal}</p>`}
  </div>`;
}

/** @param {{ id: string, field: Field, value: string, described: string, isWrong: boolean }} props */
function Control({ id, field, value, described, isWrong }) {
  const { kind, choices } = field;
  const common = {
    id,
    value,
    "aria-describedby": described,
    "aria-invalid": isWrong ? "true" : undefined,
    onChange: (/** @type {any} */ event) => change(field, event.currentTarget.value),
  };
  if (kind === "boolean" || kind === "choice") {
    const options = kind === "boolean" ? [["true", t("overrides.on")], ["false", t("overrides.off")]] : choices.map((one) => [one, one]);
    return html`<select ...${common}>
      <option value="">${t("overrides.default")}</option>
      ${options.map(([option, shown]) => html`<option value=${option}>${shown}</option>`)}
    </select>`;
  }
  if (kind === "area") {
    return html`<textarea rows="6" placeholder=${t("overrides.default")} spellcheck=${false} ...${common}></textarea>`;
  }
  const mode = kind === "number" ? "decimal" : kind === "integer" ? "numeric" : "text";
  const hint = t(kind === "list" ? "overrides.defaultList" : "overrides.default");
  return html`<input type="text" inputmode=${mode} placeholder=${hint} autocomplete="off" spellcheck=${false} ...${common} />`;
}

/** A text with its parts between backticks as code. @param {string} text */
function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));
}
