/** Preact with htm in place of JSX: what all components import. */
import { h } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { Fragment, render } from "./vendor/preact.js";
export { useEffect, useLayoutEffect, useMemo, useRef } from "./vendor/preact-hooks.js";
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "./vendor/signals.js";
