// Runs the agent of samples/pages/resumable-agent.js as a page with a Stop button does: it asks, stops at the first text,
// and is loaded again. Arguments: the client's version, the app's URL and the file. Prints the messages of both pages.
import { readFile, rm, writeFile } from "node:fs/promises";

const [version, url, file] = process.argv.slice(2);
const kept = new Map();
globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
const code = (await readFile(file, "utf-8")).replace("@ag-ui/client", version).replace(/"http:.*?"/, JSON.stringify(url));
const copy = new URL(`node_modules/resumable-${process.pid}.mjs`, import.meta.url);
await writeFile(copy, code.replace("const agent =", "export const page = () =>"));
const { page } = await import(copy).finally(() => rm(copy));

let deleted;
const { fetch } = globalThis;
globalThis.fetch = (at, init) => (init?.method === "DELETE" ? (deleted = fetch(at, init)) : fetch(at, init));
const stopped = page();
stopped.addMessage({ id: "user-1", role: "user", content: "Are dental implants paid?" });
await stopped.runAgent({}, { onTextMessageContentEvent: () => void setTimeout(() => stopped.abortRun()) }).catch(() => {});
const { status } = await deleted;
const again = page();
await again.connectAgent();
console.log(JSON.stringify({ status, stopped: stopped.messages, again: again.messages }));
