/**
 * Blocks that were freed by their address, behind the back of the buffer that had them.
 *
 * A buffer knows its block by its number, which names another buffer's block when that is allocated
 * next. So each buffer remembers how many blocks had been freed in this way when it was made, which
 * costs nothing as long as there are none, and asks whether its own has been freed since.
 *
 * @module
 */

/** The blocks of a pool that were freed by their address. */
export class WithdrawnBlocks {
  /** How many times that happened. */
  count = 0;
  readonly #last = new Map<number, number>();

  /** Notes that a live block is freed by its address. */
  add(block: number): void {
    this.#last.set(block, this.count++);
  }

  /** Whether the block of a buffer was, given {@linkcode count} when the buffer was made. */
  includes(block: number, since: number): boolean {
    return (this.#last.get(block) ?? -1) >= since;
  }
}
