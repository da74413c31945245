/**
 * Formats times, shares and addresses.
 *
 * The page's script contains the text of these functions (see `memory_report.ts`), so they refer to
 * nothing else.
 *
 * @module
 */

/** Formats a whole number with grouped thousands: `100,000`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Formats a share as a percentage with one decimal: `12.5 %`. */
export function formatShare(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** Formats milliseconds in a suitable unit: `350 µs`, `1.25 ms`, `3 min 20 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds === 0) return "0 s";
  if (milliseconds < 1) return `${Number((milliseconds * 1000).toPrecision(3))} µs`;
  if (milliseconds < 1000) return `${Number(milliseconds.toPrecision(3))} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const [large, small, unit, part] = seconds < 3600
    ? [Math.floor(seconds / 60), Math.floor(seconds % 60), "min", "s"]
    : [Math.floor(seconds / 3600), Math.floor(seconds % 3600 / 60), "h", "min"];
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${part}`;
}

/** Formats an address: `0x7f5a00000000`. */
export function formatAddress(address: number): string {
  return `0x${address.toString(16).padStart(12, "0")}`;
}

/** Returns the first line of a site, its innermost frame. */
export function innermostFrame(site: string): string {
  const end = site.indexOf("\n");
  return (end < 0 ? site : site.slice(0, end)).trim();
}

/** Shortens the innermost frame of a site: of a URL, it keeps the folder and the file. */
export function shortFrame(site: string): string {
  return innermostFrame(site).replace(/[a-z]+:\/\/\S*\/(?=[^\s/]+\/[^\s/]+$)/, "");
}
