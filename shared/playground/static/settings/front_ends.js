/** Where front ends find the app. docs/clients.md has the files and settings of each. */
import { apiUrl } from "../api/http.js";
import { CopyButton } from "../copy.js";
import { html } from "../html.js";
import { rich, t } from "../texts.js";

/** Each front end, and what to set in it: a word for the place, and a path. @type {[string, [string, string][]][]} */
const FRONT_ENDS = [
  ["ChatUI (microsoft/ai-developer)", [["chat", "/semantic-kernel/chat"], ["agents", "/multi-agent-chat"], ["history", "/chat-history"]]],
  ["azure-search-openai-demo", [[t("frontEnds.proxy"), "/ai-chat-2026-04"], [t("frontEnds.before"), "/ai-chat"]]],
  [t("frontEnds.component"), [["data-api-url", ""]]],
  ["@microsoft/ai-chat-protocol", [["endpoint", "/ai-chat-2024-05-29/chat"]]],
  ["Semantic Kernel for Python", [["POST", "/semantic-kernel-python/chat"]]],
  [t("frontEnds.openai"), [["base URL", "/v1"]]],
  ["AI SDK, useChat", [["api", "/ai-sdk/chat"]]],
  ["AG-UI: CopilotKit, assistant-ui", [["agent", "/ag-ui"]]],
  ["MCP: ChatGPT, Claude, VS Code, Copilot Studio", [["server", "/mcp"]]],
];

export function FrontEnds() {
  return html`<section aria-labelledby="front-ends">
    <h2 id="front-ends">${t("frontEnds.title")}</h2>
    <div class="scroll-x" role="region" aria-labelledby="front-ends" tabindex="0">
      <table>
        <thead><tr><th scope="col">${t("frontEnds.name")}</th><th scope="col">${t("frontEnds.set")}</th></tr></thead>
        <tbody>
          ${FRONT_ENDS.map(
            ([name, addresses]) => html`<tr>
              <th scope="row">${name}</th>
              <td>${addresses.map(([word, path]) => html`<${Address} word=${word} url=${apiUrl(path)} />`)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <p class="quiet">
      ${rich("frontEnds.more")}${" "}
      <a href="openapi.json">OpenAPI</a>, <a href="swagger.json">Swagger</a>, <a href="health">${t("health.title")}</a>.
    </p>
  </section>`;
}

/** @param {{ word: string, url: string }} props */
function Address({ word, url }) {
  return html`<div class="address">
    <span class="quiet">${word}</span>
    <code>${url}</code>
    <${CopyButton} text=${() => url} label=${t("copy.one", { what: url })} />
  </div>`;
}
