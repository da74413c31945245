/**
 * The machine code that this process used last, so that the same source on a second device reads nothing.
 *
 * @module
 */

import type { CompiledSource } from "./cache_entry.ts";

/** Compiled sources by key, of limited size together; the one that was not used for longest goes first. */
export class RecentImages {
  readonly #maxBytes: number;
  // A map keeps the order in which its keys came: the first is the one not used for longest.
  readonly #images = new Map<string, CompiledSource>();
  #bytes = 0;

  /** None yet. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of all images. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What has a key, and is then what was used last. */
  get(key: string): CompiledSource | undefined {
    const compiled = this.#images.get(key);
    if (compiled === undefined) return undefined;
    this.#images.delete(key);
    this.#images.set(key, compiled);
    return compiled;
  }

  /** Adds one; whose image is larger than all may be together is not kept. */
  add(key: string, compiled: CompiledSource): void {
    this.#remove(key);
    const bytes = compiled.image.image.length;
    if (bytes > this.#maxBytes) return;
    this.#images.set(key, compiled);
    this.#bytes += bytes;
    for (const oldest of this.#images.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(oldest);
    }
  }

  /** Forgets all. */
  clear(): void {
    this.#images.clear();
    this.#bytes = 0;
  }

  #remove(key: string): void {
    const compiled = this.#images.get(key);
    if (compiled === undefined) return;
    this.#images.delete(key);
    this.#bytes -= compiled.image.image.length;
  }
}
