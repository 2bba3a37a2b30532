/** The playground. Each room adds its tabs and pages to the shell when it is imported, in this order. */
import { html, render } from "./html.js";
import { Shell } from "./shell.js";
import "./chat/chat.js";
import "./settings/room.js";
import "./sign_in.js";

const root = document.getElementById("app");
if (root) render(html`<${Shell} />`, root);
