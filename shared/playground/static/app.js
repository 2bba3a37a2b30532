/** The page. Each room adds its tabs and pages to the shell when it is imported, in this order. */
import { isWorkbench } from "./about.js";
import { html, render } from "./html.js";
import { rooms, Shell } from "./shell.js";
import { SignIn, SignOut } from "./sign_in.js";
import "./theme.js";
import "./chat/chat.js";
import "./sources/room.js";
import "./documents/room.js";
import "./tools/room.js";
import "./settings/room.js";

if (isWorkbench) await import("./workbench.js");
rooms.notices.push(SignIn);
rooms.foot.push(SignOut);

const root = document.getElementById("app");
if (root) render(html`<${Shell} />`, root);
