/** The page of the API: the app's OpenAPI document in Swagger UI, whose requests are sent as the reader. */
import { apiUrl, credentials } from "../api/http.js";
import { effect, html, render } from "../html.js";
import { SignIn, SignOut } from "../sign_in.js";
import { isDark, ThemeButton } from "../theme.js";

function Top() {
  return html`
    <header class="top">
      <a class="name" href="./"><span class="mark" aria-hidden="true"></span>Switchboard</a>
      <nav aria-label="Pages">
        <a href="./">Playground</a>
        <a href="docs" aria-current="page">API</a>
        <a href="openapi.json">OpenAPI</a>
        <a href="swagger.json">Swagger 2.0</a>
      </nav>
      <${SignOut} />
      <${ThemeButton} />
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
effect(() => {
  document.documentElement.classList.toggle("dark-mode", isDark.value);
});
/** @type {any} */ (window).SwaggerUIBundle({
  url: apiUrl("/openapi.json"),
  dom_id: "#routes",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  requestInterceptor: asTheReader,
  tryItOutEnabled: true,
  validatorUrl: null, // it would be asked for a badge, with the document's address
});
