/**
 * The style sheet of the page.
 *
 * The colours of states are those of Okabe and Ito ("Color Universal Design", 2008), which are distinct
 * for every kind of colour vision; those of call sites are Paul Tol's "muted" scheme ("Colour Schemes",
 * SRON, 2021) and an orange. Hatching, dots and borders distinguish states without colour.
 *
 * @module
 */

const COLORS = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --panel: #f6f8fa; --ink: #1b1f24; --muted: #57606a; --rule: #d8dee4;
  --accent: #0550ae; --alarm: #d55e00; --mark: #33414d;
  --reserved: #57606a; --fragmentation: #9a4a7e;
  --live: #0072b2; --cached: #9ad0ee; --free: #eef1f4; --pending: #e69f00; --unmapped: #b6bec7;
  --site-0: #332288; --site-1: #88ccee; --site-2: #44aa99; --site-3: #117733; --site-4: #999933;
  --site-5: #ddcc77; --site-6: #cc6677; --site-7: #882255; --site-8: #aa4499; --site-9: #ee7733;
  --site-rest: #b6bec7;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0f1318; --panel: #171c23; --ink: #e6e9ed; --muted: #98a2ad; --rule: #2c343d;
    --accent: #7ab8ff; --alarm: #ff8542; --mark: #0f1318;
    --reserved: #a6b0ba; --fragmentation: #d78fbb;
    --live: #3f9fdb; --cached: #8fbfdb; --free: #222a33; --pending: #e69f00; --unmapped: #46515c;
    --site-0: #7f6fe0; --site-3: #3aa35f; --site-7: #c2527f; --site-rest: #65707b;
  }
}`;

const ELEMENTS = `
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); }
body {
  margin: 0 auto; padding: 28px 24px 64px; max-width: 1360px;
  font: 14px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
h1 { font-size: 21px; font-weight: 600; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 15px; font-weight: 600; margin: 0; }
h3 { font-size: 14px; font-weight: 600; margin: 0 0 6px; }
p { margin: 0; }
section { margin-top: 36px; }
[hidden] { display: none !important; }
pre, code, .mono { font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { margin: 8px 0 0; overflow: auto; white-space: pre; }
button, select, input[type="text"] {
  font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--rule); border-radius: 4px; padding: 2px 8px; min-height: 27px;
}
button { cursor: pointer; }
button:hover, select:hover { border-color: var(--muted); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
input[aria-invalid="true"] { border-color: var(--alarm); outline-color: var(--alarm); }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; color: var(--muted); white-space: nowrap; }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
td:last-child, th:last-child { padding-right: 0; }
td { overflow-wrap: anywhere; }
th[scope="row"] { overflow-wrap: anywhere; white-space: normal; }
td.name { white-space: nowrap; }
td.value { text-align: right; }
td.number, th.number { text-align: right; white-space: nowrap; }
`;

const SITES = [...Array(10).keys(), "rest"]
  .map((site) => `.site-${site} { background: var(--site-${site}); }`).join("\n");

const PARTS = `
.note, .muted { color: var(--muted); }
.fake { font-size: 12px; font-weight: 600; border: 1px solid var(--alarm); color: var(--alarm);
  border-radius: 4px; padding: 1px 6px; vertical-align: 3px; }
.figures { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr));
  gap: 16px 20px; margin: 22px 0 20px; }
.figures dt { color: var(--muted); }
.figures dd { margin: 0; font-size: 20px; font-weight: 600; line-height: 1.3; }
.figures .note { font-size: 12px; font-weight: 400; line-height: 1.35; }
.composition { display: block; width: 100%; height: 18px; }
.swatch { width: 14px; height: 14px; flex: none; }
svg .live { fill: var(--live); } svg .pending { fill: var(--pending); }
svg .cached { fill: var(--cached); } svg .free { fill: var(--free); }
svg .unmapped { fill: var(--unmapped); } svg .mark { stroke: var(--mark); fill: none; }
svg .dot { fill: var(--mark); } svg .edge { stroke: var(--muted); fill: none; }
svg .reserved { fill: var(--reserved); } svg .fragmentation { fill: var(--fragmentation); }
svg .alarm { fill: var(--alarm); }
.bar-row { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 14px;
  margin: 0 0 10px; }
.bar-row h2 { margin-right: auto; }
.bar-row label, .key { display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; }
.bar-row input[type="text"] { width: 13ch; }
.bar-row #filter-site { width: 22ch; }
.bar-row select { max-width: 26ch; }
.buttons { display: inline-flex; gap: 4px; }
${SITES}
#timeline-sites { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr));
  gap: 3px 18px; list-style: none; margin: 10px 0 0; padding: 0; font-size: 12px; }
#timeline-sites li { overflow-wrap: anywhere; }
#timeline-sites .swatch { display: inline-block; width: 10px; height: 10px; margin-right: 6px; }
details { margin-top: 28px; }
summary { cursor: pointer; }
summary h2 { display: inline; }
#timeline { display: block; width: 100%; height: 340px; touch-action: pan-y; cursor: crosshair; }
.panel { background: var(--panel); border: 1px solid var(--rule); border-radius: 6px;
  padding: 12px 14px; overflow: auto; }
.panel dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 14px;
  margin: 0; }
.panel dt { color: var(--muted); }
.panel dd { margin: 0; overflow-wrap: anywhere; }
#event { height: 176px; margin-top: 8px; }
#event dl { grid-template-columns: repeat(3, max-content minmax(0, 1fr)); }
.map { display: grid; grid-template-columns: minmax(0, 1fr) 340px; gap: 14px; }
#map-box { height: 420px; overflow-y: scroll; border: 1px solid var(--rule); border-radius: 6px; }
#map { display: block; position: sticky; top: 0; cursor: crosshair; }
#map:focus-visible { outline-offset: -2px; }
#block { height: 420px; }
#sites button { border: 0; padding: 0; min-height: 0; background: none; text-align: left;
  font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
#sites td:first-child { min-width: 190px; }
#sites button:hover { text-decoration: underline; }
tr.chosen td { background: var(--panel); }
tr.chosen button { font-weight: 700; }
.track { display: inline-block; height: 9px; width: 120px; margin-right: 12px; }
.amount { display: inline-block; min-width: 9ch; }
.bar { display: block; height: 9px; margin-left: auto; background: var(--live); opacity: 0.75; }
th button { border: 0; padding: 0; min-height: 0; background: none; font-weight: 600; }
th[aria-sort="descending"] button::after { content: " ↓"; }
th[aria-sort="ascending"] button::after { content: " ↑"; }
#sites-more { margin-top: 10px; }
.scroll { overflow-x: auto; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr));
  gap: 0 40px; }
#tooltip { position: fixed; z-index: 1; pointer-events: none; max-width: min(420px, 90vw);
  background: var(--paper); border: 1px solid var(--muted); border-radius: 4px; padding: 6px 10px;
  box-shadow: 0 2px 8px rgb(0 0 0 / 18%); font-size: 12px; overflow-wrap: anywhere; }
#tooltip strong, #tooltip code { display: block; }
#announcement { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
kbd { font: 11px ui-monospace, monospace; border: 1px solid var(--rule); border-radius: 3px;
  padding: 0 4px; }
.below { font-size: 12px; margin-top: 8px; }
@media (pointer: coarse), (max-width: 520px) { .keys { display: none; } }
@media (max-width: 820px) {
  body { padding: 18px 14px 48px; }
  .map { grid-template-columns: minmax(0, 1fr); }
  .track { display: none; }
  .bar-row h2 { width: 100%; }
  #block { height: auto; max-height: 260px; }
  #event { height: auto; max-height: 240px; }
  #block:has(> .note:only-child), #event:has(> .note:only-child) { display: none; }
  #event dl { grid-template-columns: max-content minmax(0, 1fr); }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
@media (max-width: 520px) {
  .cards thead { display: none; }
  .cards tr { display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 6px 0;
    border-bottom: 1px solid var(--rule); }
  .cards td, .cards td.number { border: 0; padding: 0; min-width: 0; text-align: left; }
  .cards td:first-child { flex-basis: 100%; }
  .cards td[data-label]::before { content: attr(data-label) " "; color: var(--muted); }
  .cards .amount { min-width: 0; }
}
@media print { #tooltip, .keys, .buttons { display: none; } }
`;

export const STYLE_SHEET: string = COLORS + ELEMENTS + PARTS;
