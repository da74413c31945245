/**
 * What is thrown when a pickle cannot be read.
 *
 * @module
 */

/**
 * A pickle is corrupt, cut short, too large, or holds more than plain values.
 *
 * @example
 * ```ts
 * import { PickleError, readSnapshot } from "@gridstride/cuda/memory";
 *
 * try {
 *   readSnapshot(Uint8Array.of(0x80, 4, 0x63, 0x6f, 0x73, 0x0a)); // what names a class
 * } catch (error) {
 *   if (error instanceof PickleError) console.log(error.offset, error.opcode); // 2 GLOBAL
 * }
 * ```
 */
export class PickleError extends Error {
  /** The class's name, for what prints errors. */
  override readonly name = "PickleError";
  /** Where the opcode is in the file, in bytes from its begin. */
  readonly offset: number;
  /** The opcode by name; `undefined` where the fault is none of an opcode's. */
  readonly opcode: string | undefined;

  /**
   * Makes the error for one place.
   *
   * @internal
   */
  constructor(offset: number, opcode: string | undefined, offence: string) {
    const place = opcode === undefined ? `at byte ${offset}` : `${opcode} at byte ${offset}`;
    super(`Cannot read the pickle as ${place} ${offence}`);
    this.offset = offset;
    this.opcode = opcode;
  }
}
