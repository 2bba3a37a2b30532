/** The page of the API: the app's OpenAPI document in Swagger UI, whose requests are sent as the reader. */
import { apiUrl, credentials } from "../api/http.js";
import { html, render } from "../html.js";
import { SignIn, SignOut } from "../sign_in.js";
import { nameOfApp, t } from "../texts.js";
import { ThemeChoice } from "../theme.js";

/** What Swagger UI leaves out, by the selectors of its elements: names, levels of headings, and ways in for the keyboard.
 * @type {Record<string, Record<string, string>>} */
const LEFT_OUT = {
  ".information-container": { role: "region", "aria-label": "API" },
  ".scheme-container": { role: "region", "aria-label": "URL" },
  ".filter-container": { role: "search" },
  "#servers": { "aria-label": "URL" },
  ".body-param__text": { "aria-label": t("wire.body") },
  ".content-type": { "aria-label": "Content-Type" },
  "h3.opblock-tag": { "aria-level": "2" },
  ":is(h4, h5)": { "aria-level": "3" },
  pre: { tabindex: "0" },
};

function Top() {
  return html`
    <header class="top">
      <a class="name" href="./"><span class="mark" aria-hidden="true"></span>${nameOfApp()}</a>
      <nav aria-label=${t("shell.pages")}>
        <a href="./">${t("docs.playground")}</a>
        <a href="docs" aria-current="page">${t("shell.api")}</a>
        <a href="openapi.json">OpenAPI</a>
        <a href="swagger.json">Swagger 2.0</a>
      </nav>
      <${SignOut} />
      <${ThemeChoice} />
    </header>
    <${SignIn} />
  `;
}

/** @param {{ url: string, headers: Record<string, string> }} request */
async function asTheReader(request) {
  const isDocument = request.url.endsWith("/openapi.json");
  const authorization = isDocument || request.headers["Authorization"] ? null : await credentials.authorization();
  if (authorization) request.headers["Authorization"] = authorization;
  return request;
}

const root = document.getElementById("app");
if (root) render(html`<${Top} />`, root);

/** A link within the button that opens an operation could not be reached; the button goes to the same address.
 * @param {unknown} _original @param {{ React: any }} system */
const textOnly = (_original, { React }) => (/** @type {{ text: string }} */ { text }) => React.createElement("span", null, text);

const routes = document.getElementById("routes");
if (routes) new MutationObserver(() => complete(routes)).observe(routes, { childList: true, subtree: true });

/** @param {HTMLElement} element */
function complete(element) {
  for (const [selector, attributes] of Object.entries(LEFT_OUT)) {
    for (const found of element.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) if (!found.hasAttribute(name)) found.setAttribute(name, value);
    }
  }
}
/** @type {any} */ (window).SwaggerUIBundle({
  url: apiUrl("/openapi.json"),
  dom_id: "#routes",
  deepLinking: true,
  docExpansion: "none", // of a longer list only what is in view would be drawn, without the headings above it
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  plugins: [{ wrapComponents: { DeepLink: textOnly } }],
  requestInterceptor: asTheReader,
  syntaxHighlight: false, // its colours are its own
  tryItOutEnabled: true,
  validatorUrl: null, // it would be asked for a badge, with the document's address
});
