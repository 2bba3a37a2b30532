/** The fields of the overrides, made of the OpenAPI document, so that none is missing. */
import { t } from "../texts.js";

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {"text" | "area" | "number" | "integer" | "boolean" | "choice" | "list"} kind
 * @property {string} meaning
 * @property {string[]} choices
 * @property {string} bounds as a short text; empty: none.
 * @property {any} schema of a value.
 */

const AREA_FROM = 1_000; // characters from which a text gets more than one line
const LARGEST_SHOWN = 1e6;

/**
 * @param {any} openapi the document of `GET /openapi.json`.
 * @returns {Field[]}
 */
export function fieldsOf(openapi) {
  const { properties } = openapi.components.schemas.OverridesBody;
  return Object.entries(properties).map(([name, schema]) => fieldOf(name, schema));
}

/** @param {string} name @param {any} whole @returns {Field} */
function fieldOf(name, whole) {
  const types = [whole, ...(whole.anyOf ?? [])].filter((one) => one.type && one.type !== "null");
  const schema = types.find((one) => one.type === "array") ?? types[0] ?? {};
  const choices = schema.enum ?? [];
  return { name, kind: kindOf(schema), meaning: whole.description ?? "", choices, bounds: boundsOf(schema), schema };
}

/** @param {any} schema @returns {Field["kind"]} */
function kindOf({ type, enum: choices, maxLength }) {
  if (choices) return "choice";
  if (type === "array") return "list";
  if (type === "number" || type === "integer" || type === "boolean") return type;
  return maxLength > AREA_FROM ? "area" : "text";
}

/** @param {any} schema */
function boundsOf({ minimum, maximum, maxLength, maxItems, pattern }) {
  if (maximum !== undefined && maximum < LARGEST_SHOWN) return t("settings.range", { minimum: String(minimum), maximum: String(maximum) });
  const most = maxLength ?? maxItems;
  return most === undefined ? (pattern ?? "") : `≤ ${most}`;
}

/**
 * What a request sends for a text that was typed. A wrong one is sent as it is: the app says what is wrong.
 * @param {Field} field
 * @param {string} typed
 * @returns {unknown} undefined: nothing.
 */
export function valueOf({ kind }, typed) {
  if (!typed.trim()) return undefined;
  if (kind === "boolean") return typed === "true";
  if (kind === "list") return typed.split(",").map((name) => name.trim()).filter(Boolean);
  if (kind !== "number" && kind !== "integer") return typed;
  const number = Number(typed);
  return Number.isFinite(number) ? number : typed;
}

/** The text in a field for a value. @param {unknown} value */
export function typedOf(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Whether the document refuses a value. @param {Field} field @param {unknown} value */
export function isRefused({ schema, kind }, value) {
  const { minimum, maximum, maxLength, pattern, enum: choices } = schema;
  if (kind === "number" || kind === "integer") {
    if (typeof value !== "number" || (kind === "integer" && !Number.isInteger(value))) return true;
    return value < (minimum ?? -Infinity) || value > (maximum ?? Infinity);
  }
  if (kind === "boolean") return typeof value !== "boolean";
  if (kind === "list") return !Array.isArray(value) || value.length > (schema.maxItems ?? Infinity);
  if (typeof value !== "string" || value.length > (maxLength ?? Infinity)) return true;
  return choices ? !choices.includes(value) : pattern !== undefined && !new RegExp(pattern).test(value);
}
