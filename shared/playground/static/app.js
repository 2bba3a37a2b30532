/** The playground. Each room adds its tabs and pages to the shell when it is imported, in this order. */
import { html, render } from "./html.js";
import { rooms, Shell } from "./shell.js";
import { SignIn, SignOut } from "./sign_in.js";
import "./chat/chat.js";
import "./sources/room.js";
import "./team/room.js";
import "./safety/room.js";
import "./wire/room.js";
import "./documents/room.js";
import "./tools/room.js";
import "./settings/room.js";

rooms.notices.push(SignIn);
rooms.top.push(SignOut);

const root = document.getElementById("app");
if (root) render(html`<${Shell} />`, root);
