/**
 * The table of sites: sorted by any column, and each row shows its blocks on the map.
 *
 * @module
 */

import { formatBytes, formatCount, innermostFrame } from "../quantities.ts";
import type { PageElement, PageWindow } from "./dom.ts";
import { elementOf, fillElement, listen, makeElement } from "./elements.ts";
import type { Report } from "./report.ts";

/** What a site holds. */
export interface SiteRow {
  /** Index into the sites; −1 for blocks of which nobody knows the site. */
  readonly site: number;
  /** Its innermost frame. */
  readonly name: string;
  /** Live bytes. */
  live: number;
  /** Live blocks. */
  count: number;
  /** The largest of them, in bytes. */
  largest: number;
}

/** A column of the table. */
export type SiteColumn = "name" | "live" | "count" | "largest";

/** What the live blocks of a report come to, by site. */
export function siteRows(report: Report): SiteRow[] {
  const { site, bytes, state } = report.blocks;
  const live = report.states.indexOf("live");
  const rows = new Map<number, SiteRow>();
  for (let index = 0; index < site.length; index++) {
    if (state[index] !== live) continue;
    const number = site[index]!;
    const row = rows.get(number) ?? {
      site: number,
      name: number < 0 ? "unknown" : innermostFrame(report.sites[number] ?? ""),
      live: 0,
      count: 0,
      largest: 0,
    };
    rows.set(number, row);
    row.live += bytes[index]!;
    row.count++;
    row.largest = Math.max(row.largest, bytes[index]!);
  }
  return [...rows.values()];
}

/** The table in the page. */
export class SiteTable {
  /** How many rows are shown at first, and how many more each time. */
  readonly #page = 25;

  readonly #window: PageWindow;
  readonly #report: Report;
  readonly #rows: SiteRow[];
  readonly #choose: (site: number | null) => void;
  #column: SiteColumn = "live";
  #isDescending = true;
  #shown = this.#page;
  #chosen: number | null = null;

  /** Fills the table; `choose` is told which site was chosen. */
  constructor(window: PageWindow, report: Report, choose: (site: number | null) => void) {
    this.#window = window;
    this.#report = report;
    this.#choose = choose;
    this.#rows = siteRows(report);
    for (const column of ["name", "live", "count", "largest"] as const) {
      listen(elementOf(window.document, `sort-${column}`), "click", () => this.#sortBy(column));
    }
    listen(elementOf(window.document, "sites-more"), "click", () => {
      this.#shown += 4 * this.#page;
      this.#fill();
    });
    // Who looks for sites by a text lets go of the chosen one.
    listen(elementOf(window.document, "filter-site"), "input", () => this.#mark(null));
    this.#sort();
    this.#fill();
  }

  #sortBy(column: SiteColumn): void {
    this.#isDescending = this.#column === column ? !this.#isDescending : column !== "name";
    this.#column = column;
    this.#sort();
    this.#fill();
  }

  #sort(): void {
    const column = this.#column;
    const sign = this.#isDescending ? -1 : 1;
    this.#rows.sort((a, b) =>
      column === "name"
        ? sign * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
        : sign * (a[column] - b[column]) || b.live - a.live
    );
  }

  #fill(): void {
    const { document } = this.#window;
    for (const column of ["name", "live", "count", "largest"] as const) {
      const order = this.#isDescending ? "descending" : "ascending";
      elementOf(document, `column-${column}`).setAttribute(
        "aria-sort",
        column === this.#column ? order : "none",
      );
    }
    const most = this.#rows.reduce((largest, { live }) => Math.max(largest, live), 1);
    fillElement(
      elementOf(document, "sites"),
      ...this.#rows.slice(0, this.#shown).map((row) => this.#row(row, most)),
    );
    const more = elementOf(document, "sites-more");
    more.hidden = this.#shown >= this.#rows.length;
    more.textContent = `Show more of ${formatCount(this.#rows.length)} sites`;
  }

  #row(row: SiteRow, most: number): PageElement {
    const { document } = this.#window;
    const button = makeElement(document, "button", "site", row.name);
    button.title = this.#report.sites[row.site] ?? "";
    button.setAttribute("type", "button");
    button.setAttribute("aria-pressed", String(this.#chosen === row.site));
    listen(button, "click", () => this.#toggle(row.site));
    const bar = makeElement(document, "span", "bar");
    bar.style.width = `${row.live / most * 100}%`;
    const track = makeElement(document, "span", "track", bar);
    const amount = makeElement(document, "span", "amount", formatBytes(row.live));
    return makeElement(
      document,
      "tr",
      this.#chosen === row.site ? "chosen" : "",
      makeElement(document, "td", "", button),
      makeElement(document, "td", "number", track, amount),
      makeElement(document, "td", "number", formatCount(row.count)),
      makeElement(document, "td", "number", formatBytes(row.largest)),
    );
  }

  #toggle(site: number): void {
    this.#mark(this.#chosen === site ? null : site);
    this.#choose(this.#chosen);
  }

  /** Shows which site is chosen. */
  #mark(site: number | null): void {
    this.#chosen = site;
    this.#fill();
    this.#showStack();
  }

  #showStack(): void {
    const stack = elementOf(this.#window.document, "stack");
    stack.hidden = this.#chosen === null;
    stack.textContent = this.#chosen === null
      ? ""
      : this.#report.sites[this.#chosen] ?? "The site of these blocks was not recorded.";
  }
}
