/**
 * Memory corruption that debug mode finds.
 *
 * @module
 */

import { innermostOf } from "./block_tracker.ts";

/**
 * One case of corrupted memory.
 * @category Memory
 */
export interface MemoryViolation {
  /**
   * - `overrun`: bytes before or behind the buffer were written;
   * - `use after free`: bytes of the buffer were written after it was freed;
   * - `double free`: it was freed again.
   */
  readonly kind: "overrun" | "use after free" | "double free";
  /** The buffer's address; 0 if it is unknown. */
  readonly address: number;
  /** The buffer's size in bytes. */
  readonly bytes: number;
  /**
   * The first byte that was written, relative to the buffer: negative before it, at least its size
   * behind it. `null` for a double free.
   */
  readonly offset: number | null;
  /** The number of changed bytes; at most the size of the guard on that side. */
  readonly damaged: number;
  /** Up to eight bytes from the first changed one on, in hexadecimal. */
  readonly found: string;
  /** The stack that allocated the buffer, innermost frame first. */
  readonly allocatedAt: string;
  /** The stack that freed it; `null` while it is live. */
  readonly freedAt: string | null;
}

function bytesText(count: number): string {
  return count === 1 ? "1 byte" : `${count} bytes`;
}

function offence({ kind, bytes, offset, damaged, found }: MemoryViolation): string {
  if (kind === "double free") return "was freed already";
  const written = `${bytesText(damaged)} from byte ${offset} on changed to ${found}`;
  if (kind === "use after free") return `was written after it was freed: ${written}`;
  const side = offset! < 0
    ? `${bytesText(-offset!)} before its begin`
    : `${bytesText(offset! - bytes)} behind its end`;
  return `was overrun ${side}: ${written}`;
}

function describe(violation: MemoryViolation): string {
  const { address, bytes, allocatedAt, freedAt } = violation;
  const freed = freedAt === null ? "" : `, freed at ${innermostOf(freedAt)}`;
  return `the buffer of ${bytesText(bytes)} at 0x${address.toString(16)} ${offence(violation)}; ` +
    `it was allocated at ${innermostOf(allocatedAt)}${freed}`;
}

/** Violations in the message. */
const MAX_SHOWN = 3;

/**
 * Debug mode has found corrupted memory, or a buffer that was freed twice. The call that throws this
 * has done its work all the same, except for freeing twice.
 *
 * @example
 * ```ts
 * import { MemoryCorruptionError } from "@gridstride/cuda";
 *
 * function report(error: unknown): void {
 *   if (!(error instanceof MemoryCorruptionError)) throw error;
 *   for (const { kind, allocatedAt } of error.violations) console.error(kind, allocatedAt);
 * }
 * console.log(typeof report);
 * ```
 * @category Memory
 */
export class MemoryCorruptionError extends Error {
  /** The name of the class. */
  override readonly name: string = "MemoryCorruptionError";
  /** The device's label. */
  readonly device: string;
  /** The violations; at least one. */
  readonly violations: readonly MemoryViolation[];

  /**
   * Makes the error.
   *
   * @param action The interrupted action, as in "Cannot <action>".
   * @param device The device's label.
   * @param violations At least one.
   */
  constructor(action: string, device: string, violations: readonly MemoryViolation[]) {
    const rest = violations.length - MAX_SHOWN;
    const shown = violations.slice(0, MAX_SHOWN).map(describe).join("; ") +
      (rest > 0 ? `; and ${rest} more` : "");
    super(`Cannot ${action} on ${device} without finding memory corrupted: ${shown}`);
    this.device = device;
    this.violations = violations;
  }
}
