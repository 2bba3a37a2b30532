/** A request as a program that sends it: each writes the body of the answer as it arrives, and nothing else. */
import { t } from "../texts.js";

/**
 * @typedef {{ method: string, url: string, headers: [string, string][], body: string, needsKey: boolean }} Sent
 * `needsKey`: whether the app wants `Authorization: Bearer …`. The key is never in the text.
 */

/** Where the programs take the key from. */
export const KEY = "SWITCHBOARD_KEY";

const LONGEST_ARGUMENT = 100_000; // Linux takes 128 KiB (execve(2), MAX_ARG_STRLEN)
const HEREDOC = "END_OF_BODY";

/** @type {Record<string, { title: string, note: string, write: (sent: Sent) => string }>} */
export const LANGUAGES = {
  curl: { title: "curl", note: t("wire.posix"), write: asCurl },
  python: { title: "Python", note: t("wire.python"), write: asPython },
  node: { title: "JavaScript (Node)", note: t("wire.node"), write: asNode },
  fetch: {
    title: "fetch (browser)",
    note: t("wire.browser"),
    write: asFetch,
  },
};

/** @param {Sent} sent */
function asCurl({ method, url, headers, body, needsKey }) {
  const long = body.length > LONGEST_ARGUMENT;
  const lines = [
    `curl -sS -N -X ${method} ${forShell(url)}`,
    ...headers.map(([name, value]) => `-H ${forShell(`${name}: ${value}`)}`),
    ...(needsKey ? [`-H "authorization: Bearer $${KEY}"`] : []),
    long ? `--data-binary @- <<'${HEREDOC}'\n${withoutNul(body)}\n${HEREDOC}` : `--data-raw ${forShell(visible(pretty(body)))}`,
  ];
  return `${lines.join(" \\\n  ")}\n`;
}

/** @param {Sent} sent */
function asPython({ method, url, headers, body, needsKey }) {
  const named = headers.map(([name, value]) => `${forPython(name)}: ${forPython(value)}`);
  if (needsKey) named.push(`"authorization": "Bearer " + os.environ["${KEY}"]`);
  return `import json, os, sys, urllib.error, urllib.request

body = ${forPython(JSON.parse(body))}
headers = {${named.join(", ")}}
data = json.dumps(body).encode()
request = urllib.request.Request(${forPython(url)}, data, headers, method=${forPython(method)})
try:
    with urllib.request.urlopen(request) as response:
        for line in response:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())
`;
}

/** @param {Sent} sent */
function asNode(sent) {
  return `(async () => {
  const response = await fetch(${forScript(sent.url)}, ${init(sent, `process.env.${KEY}`)});
  for await (const chunk of response.body) process.stdout.write(chunk);
  if (!response.ok) process.exitCode = 1;
})();
`;
}

/** @param {Sent} sent */
function asFetch(sent) {
  const key = sent.needsKey ? `  const key = prompt("The key or token of this app");\n` : "";
  return `(async () => {
${key}  const response = await fetch(${forScript(sent.url)}, ${init(sent, "key")});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    console.log(value);
  }
})();
`;
}

/** The second argument of fetch. @param {Sent} sent @param {string} key */
function init({ method, headers, body, needsKey }, key) {
  const named = headers.map(([name, value]) => `${forScript(name)}: ${forScript(value)}`);
  if (needsKey) named.push(`authorization: \`Bearer \${${key}}\``);
  return `{
    method: ${forScript(method)},
    headers: { ${named.join(", ")} },
    body: JSON.stringify(${forScript(JSON.parse(body)).replaceAll("\n", "\n    ")}),
  }`;
}

/** JSON with two spaces a level; what is no JSON stays. @param {string} json */
export function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

/**
 * A word of a POSIX shell. Between single quotes nothing has a meaning but the quote itself.
 * Source: POSIX, Shell Command Language, 2.2.2.
 * @param {string} text
 * @throws {RangeError} it has a NUL, which no argument of a program can hold.
 */
export function forShell(text) {
  return `'${withoutNul(text).replaceAll("'", `'\\''`)}'`;
}

/** @param {string} text */
function withoutNul(text) {
  if (text.includes("\0")) throw new RangeError(t("wire.nul"));
  return text;
}

/** A literal of JavaScript. @param {unknown} value */
function forScript(value) {
  return visible(JSON.stringify(value, null, 2));
}

/**
 * A literal of Python: as JSON writes it, but for the words.
 * @param {any} value
 * @param {string} indent
 * @returns {string}
 */
function forPython(value, indent = "") {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return visible(JSON.stringify(value));
  const inner = `${indent}    `;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value)
    ? value.map((item) => forPython(item, inner))
    : Object.entries(value).map(([key, item]) => `${forPython(key)}: ${forPython(item, inner)}`);
  return items.length ? `${open}\n${inner}${items.join(`,\n${inner}`)},\n${indent}${close}` : open + close;
}

/** Escapes what editors and terminals hide or take for the end of a line. @param {string} literal */
function visible(literal) {
  return literal.replace(
    /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
