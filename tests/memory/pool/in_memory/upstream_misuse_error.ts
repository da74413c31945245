/**
 * What an upstream in memory throws at a caller who breaks the rules.
 *
 * @module
 */

/** A caller of an upstream did what a device would answer with an error, a fault or a race. */
export class UpstreamMisuseError extends Error {
  /** The class's name, for what prints errors. */
  override readonly name = "UpstreamMisuseError";
}

/** How messages show an address. */
export function addressText(address: number): string {
  return `0x${address.toString(16)}`;
}
