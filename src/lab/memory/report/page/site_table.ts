/**
 * The table of call sites of the page, and the start of the page's script.
 *
 * @module
 */

import { formatBytes, formatCount, innermostFrame } from "../quantities.ts";
import { byId, make, type PageData } from "./page_tools.ts";
import { startMap } from "./segment_view.ts";
import { startTimeline } from "./timeline_view.ts";

/** Starts the table. `choose` gets the chosen site, −1 for unknown sites. */
export function startSites(data: PageData, choose: (site: number | null) => void): void {
  const columns = ["name", "live", "count", "largest"] as const;
  const totals = new Map<number, ReturnType<typeof total>>();
  const total = (site: number) => {
    const name = site < 0 ? "unknown" : innermostFrame(data.sites[site] ?? "");
    return { site, name, live: 0, count: 0, largest: 0 };
  };
  for (const { state, site, bytes } of data.segments.flatMap((segment) => segment.blocks)) {
    if (state !== "live") continue;
    const row = totals.get(site ?? -1) ?? total(site ?? -1);
    totals.set(row.site, row);
    row.live += bytes;
    row.count++;
    row.largest = Math.max(row.largest, bytes);
  }
  const rows = [...totals.values()];
  const most = rows.reduce((largest, { live }) => Math.max(largest, live), 1);
  let column: typeof columns[number] = "live";
  let isDescending = true;
  let shown = 25;
  let chosen: number | null = null;

  const fill = () => {
    const sign = isDescending ? -1 : 1;
    rows.sort((a, b) => {
      const order = column === "name"
        ? Number(a.name > b.name) - Number(a.name < b.name)
        : a[column] - b[column];
      return sign * order || b.live - a.live;
    });
    for (const each of columns) {
      const order = isDescending ? "descending" : "ascending";
      byId(`column-${each}`).setAttribute("aria-sort", each === column ? order : "none");
    }
    byId("sites").replaceChildren(...rows.slice(0, shown).map(rowOf));
    const more = byId("sites-more");
    more.hidden = shown >= rows.length;
    more.textContent = `Show more of ${formatCount(rows.length)} sites`;
    const stack = byId("stack");
    stack.hidden = chosen === null;
    stack.textContent = data.sites[chosen ?? -1] ?? "The site of these blocks was not recorded.";
  };
  const rowOf = ({ site, name, live, count, largest }: typeof rows[number]) => {
    const button = make("button", "site", name);
    button.type = "button";
    button.title = data.sites[site] ?? "";
    button.setAttribute("aria-pressed", String(chosen === site));
    button.addEventListener("click", () => {
      chosen = chosen === site ? null : site;
      fill();
      choose(chosen);
    });
    const bar = make("span", "bar");
    bar.style.width = `${live / most * 100}%`;
    return make(
      "tr",
      chosen === site ? "chosen" : "",
      make("td", "", button),
      make("td", "number", make("span", "track", bar), make("span", "amount", formatBytes(live))),
      make("td", "number", formatCount(count)),
      make("td", "number", formatBytes(largest)),
    );
  };
  for (const each of columns) {
    byId(`sort-${each}`).addEventListener("click", () => {
      isDescending = column === each ? !isDescending : each !== "name";
      column = each;
      fill();
    });
  }
  byId("sites-more").addEventListener("click", () => {
    shown += 100;
    fill();
  });
  // A search by text releases the chosen site.
  byId("filter-site").addEventListener("input", () => {
    chosen = null;
    fill();
  });
  fill();
}

export function startReport(): void {
  const data: PageData = JSON.parse(byId("data").textContent ?? "");
  const timeline = data.timeline === null ? null : startTimeline(data);
  const map = data.segments.length === 0 ? null : startMap(data);
  if (map !== null) startSites(data, map.highlight);
  const redraw = () => {
    timeline?.();
    map?.resize();
  };
  const resized = new ResizeObserver(redraw);
  if (timeline !== null) resized.observe(byId("timeline"));
  if (map !== null) resized.observe(byId("map-box"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  performance.mark("memory report drawn");
}
