/** The records of an answer: a list that draws only what is seen of it, and the record that is chosen. */
import { html, useLayoutEffect, useMemo, useRef, useSignal } from "../html.js";
import { t } from "../texts.js";

/** @typedef {import("../types.js").WireRecord} WireRecord */
/** @typedef {{ record: WireRecord, number: number, gap: number }} Row */

const ROW = 26; // pixels; as in wire.css
const DRAWN = 60; // rows; more than any list is high
const BEFORE = 10;
const LONGEST_LINE = 300;
const LONGEST_SHOWN = 100_000;

/** @param {{ records: WireRecord[], dropped: number }} props */
export function Records({ records, dropped }) {
  const filter = useSignal("");
  const chosen = useSignal(0); // its number, from 1
  const top = useSignal(0);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useRef(records.length === 0); // new records are followed, unless the reader has scrolled away
  const rows = useMemo(() => rowsOf(records, filter.value), [records, filter.value]);
  useLayoutEffect(() => {
    if (list.current && isAtEnd.current) list.current.scrollTop = list.current.scrollHeight;
  }, [rows.length]);
  const first = Math.max(0, Math.min(Math.floor(top.value / ROW) - BEFORE, rows.length - DRAWN));
  const place = rows.findIndex((row) => row.number === chosen.value);

  const onScroll = () => {
    const { scrollTop, clientHeight, scrollHeight } = /** @type {HTMLElement} */ (list.current);
    isAtEnd.current = scrollTop + clientHeight > scrollHeight - ROW;
    top.value = scrollTop;
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1 }[event.key];
    const row = to === undefined ? undefined : rows[to];
    if (to === undefined || !row || !list.current) return;
    event.preventDefault();
    chosen.value = row.number;
    isAtEnd.current = false;
    const { scrollTop, clientHeight } = list.current;
    if (to * ROW < scrollTop) list.current.scrollTop = to * ROW;
    else if ((to + 1) * ROW > scrollTop + clientHeight) list.current.scrollTop = (to + 1) * ROW - clientHeight;
  };
  const shown = rows[place]?.record.raw ?? "";
  return html`<div class="records">
    <div class="records-head">
      <input type="search" aria-label=${t("wire.filterOf")} placeholder=${t("wire.filterOf")} value=${filter.value} onInput=${(/** @type {any} */ event) => (filter.value = event.currentTarget.value)} />
      <span role="status" class="quiet">${counted(rows.length, records.length)}${dropped ? `, ${t("wire.dropped", { n: dropped })}` : ""}</span>
    </div>
    <div
      class="record-list" dir="ltr"
      role="listbox"
      tabindex="0"
      aria-label=${t("wire.recordsOf")}
      aria-activedescendant=${place >= first && place < first + DRAWN ? `record-${chosen.value}` : undefined}
      ref=${list}
      onScroll=${onScroll}
      onKeyDown=${onKeyDown}
    >
      <div role="presentation" style=${{ height: `${first * ROW}px` }}></div>
      ${rows.slice(first, first + DRAWN).map(
        ({ record, number, gap }) => html`<div
          key=${number}
          id=${`record-${number}`}
          role="option"
          aria-selected=${number === chosen.value}
          aria-posinset=${number}
          aria-setsize=${records.length}
          class="record"
          onClick=${() => (chosen.value = number)}
        >
          <span class="at">${record.at} ms</span><span class="gap">+${gap}</span><span class="raw">${lineOf(record.raw)}</span>
        </div>`,
      )}
      <div role="presentation" style=${{ height: `${Math.max(0, rows.length - first - DRAWN) * ROW}px` }}></div>
    </div>
    ${shown && html`<pre class="record-text" dir="ltr" tabindex="0" aria-label=${t("wire.chosen")}>${prettyRecord(shown)}</pre>`}
  </div>`;
}

/** @param {WireRecord[]} records @param {string} filter @returns {Row[]} */
function rowsOf(records, filter) {
  const wanted = filter.trim().toLowerCase();
  const rows = records.map((record, index) => ({
    record,
    number: index + 1,
    gap: record.at - (records[index - 1]?.at ?? 0),
  }));
  return wanted ? rows.filter(({ record }) => record.raw.toLowerCase().includes(wanted)) : rows;
}

/** @param {number} shown @param {number} all */
function counted(shown, all) {
  return shown === all ? t("wire.records", { n: all }) : t("wire.recordsSome", { n: all, shown });
}

/** @param {string} raw */
function lineOf(raw) {
  const line = raw.slice(0, LONGEST_LINE).replace(/^(data|event): ?/gm, "").replaceAll("\n", " ");
  return line.replace(/\{"type":"([^"]+)",?/, "$1 {");
}

/** Each line of a record, with its JSON over several lines. @param {string} raw */
function prettyRecord(raw) {
  if (raw.length > LONGEST_SHOWN) return `${raw.slice(0, LONGEST_SHOWN)} …`;
  return raw
    .split("\n")
    .map((line) => (line.startsWith("data: ") ? `data: ${pretty(line.slice(6))}` : pretty(line)))
    .join("\n");
}

/** JSON with two spaces a level; what is no JSON stays. @param {string} json */
export function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
