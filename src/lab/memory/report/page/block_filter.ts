/**
 * Which blocks are of interest.
 *
 * @module
 */

import type { Report } from "./report.ts";

/** The size that a text names, in bytes: `4096`, `1.5 MiB`, `2G`; NaN if it names none. */
export function sizeOf(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?\s*$/i.exec(text);
  if (match === null) return text.trim() === "" ? 0 : NaN;
  const unit = match[2] === undefined ? 0 : "KMGT".indexOf(match[2].toUpperCase()) + 1;
  return Number(match[1]) * 1024 ** unit;
}

/** What is asked of blocks, and which ones answer to it. */
export class BlockFilter {
  /** Indices of states that are let through. */
  readonly states: Set<number>;
  /** The stream; `null`: any. */
  stream: number | null = null;
  /** Indices of sites; `null`: any. */
  sites: ReadonlySet<number> | null = null;
  /** The least size in bytes. */
  minimum = 0;
  /** 1 for each block that is let through. */
  readonly matches: Uint8Array;
  /** How many are. */
  count = 0;
  /** How large they are together. */
  bytes = 0;

  readonly #blocks: Report["blocks"];

  /** Lets everything through. */
  constructor(report: Report) {
    this.#blocks = report.blocks;
    this.states = new Set(report.states.keys());
    this.matches = new Uint8Array(this.#blocks.bytes.length);
    this.apply();
  }

  /** Whether anything but states is asked for. */
  get isNarrow(): boolean {
    return this.stream !== null || this.sites !== null || this.minimum > 0;
  }

  /** Looks at every block again. */
  apply(): void {
    this.count = 0;
    this.bytes = 0;
    for (let index = 0; index < this.matches.length; index++) {
      const isMatch = this.#lets(index);
      this.matches[index] = isMatch ? 1 : 0;
      if (!isMatch) continue;
      this.count++;
      this.bytes += this.#blocks.bytes[index]!;
    }
  }

  #lets(index: number): boolean {
    const { state, stream, site, bytes } = this.#blocks;
    return this.states.has(state[index]!) && bytes[index]! >= this.minimum &&
      (this.stream === null || stream[index] === this.stream) &&
      (this.sites === null || this.sites.has(site[index]!));
  }
}
