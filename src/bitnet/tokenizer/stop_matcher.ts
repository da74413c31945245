/**
 * Stop strings in a streamed text.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";

/**
 * Text that may be shown, and the stop string that ended the text.
 * @category Tokens
 */
export interface MatchedText {
  /** The text up to a stop string, without what may be the start of one. */
  readonly text: string;
  /** The stop string found; undefined while there is none. */
  readonly stop: string | undefined;
}

/**
 * Finds stop strings in a text that comes in pieces, and withholds what may be the start of one.
 *
 * The first stop string to be complete ends the text, and of those that end at the same place the
 * longest. So the result does not depend on where the pieces were cut.
 * @category Tokens
 */
export class StopMatcher {
  readonly #stops: readonly string[];
  /** The end of the text that may be the start of a stop string. */
  #withheld = "";
  #stop: string | undefined;

  /**
   * Makes a matcher for one text.
   *
   * @param stops The stop strings.
   * @throws {TypeError} If they are no array of strings that are neither empty nor broken
   *   surrogate pairs.
   *
   * @example
   * ```ts ignore
   * const matcher = new StopMatcher(["\n\nUser:"]);
   * ```
   */
  constructor(stops: readonly string[]) {
    if (!Array.isArray(stops)) {
      throw new TypeError(
        `Cannot match stop strings as stop must be an array: it is ${describeValue(stops)}`,
      );
    }
    stops.forEach((stop, index) => {
      if (typeof stop === "string" && stop !== "" && stop.isWellFormed()) return;
      throw new TypeError(
        `Cannot match stop strings as stop[${index}] must be a nonempty string of whole ` +
          `characters: it is ${describeValue(stop)}`,
      );
    });
    // The longest of those that end at the same place is found first.
    this.#stops = [...stops].sort((a, b) => b.length - a.length);
  }

  /** The length of the longest end of a text that starts a stop string. */
  #openLength(text: string): number {
    let longest = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(stop.slice(0, length))) longest = length;
      }
    }
    return longest;
  }

  /**
   * Takes the next piece of the text.
   *
   * @param piece The piece; ignored after a stop string.
   * @returns The text that no stop string can take any more.
   *
   * @example
   * ```ts ignore
   * const { text, stop } = matcher.push("…");
   * ```
   */
  push(piece: string): MatchedText {
    if (this.#stop !== undefined) return { text: "", stop: this.#stop };
    const text = this.#withheld + piece;
    let end = Infinity;
    for (const stop of this.#stops) {
      const start = text.indexOf(stop);
      if (start < 0 || start + stop.length >= end) continue;
      end = start + stop.length;
      this.#stop = stop;
    }
    if (this.#stop !== undefined) {
      this.#withheld = "";
      return { text: text.slice(0, end - this.#stop.length), stop: this.#stop };
    }
    const shown = text.length - this.#openLength(text);
    this.#withheld = text.slice(shown);
    return { text: text.slice(0, shown), stop: undefined };
  }

  /**
   * Ends the text.
   *
   * @returns What was withheld.
   *
   * @example
   * ```ts ignore
   * const rest = matcher.finish();
   * ```
   */
  finish(): string {
    const rest = this.#withheld;
    this.#withheld = "";
    return rest;
  }
}
