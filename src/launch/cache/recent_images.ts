/**
 * The images that this process used last, so that the same source on a second device reads nothing.
 *
 * @module
 */

import type { CompiledImage } from "../compile/compiler.ts";

/** Images by key, of limited size together; the one that was not used for longest goes first. */
export class RecentImages {
  readonly #maxBytes: number;
  // A map keeps the order in which its keys came: the first is the one not used for longest.
  readonly #images = new Map<string, CompiledImage>();
  #bytes = 0;

  /** None yet. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of all images. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The image of a key, which is then the one that was used last. */
  get(key: string): CompiledImage | undefined {
    const image = this.#images.get(key);
    if (image === undefined) return undefined;
    this.#images.delete(key);
    this.#images.set(key, image);
    return image;
  }

  /** Adds an image; one that is larger than all may be together is not kept. */
  add(key: string, image: CompiledImage): void {
    this.#remove(key);
    if (image.image.length > this.#maxBytes) return;
    this.#images.set(key, image);
    this.#bytes += image.image.length;
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
    const image = this.#images.get(key);
    if (image === undefined) return;
    this.#images.delete(key);
    this.#bytes -= image.image.length;
  }
}
