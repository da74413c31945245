/**
 * What debug mode finds: writes outside of buffers, and what is done to buffers after they were
 * freed.
 *
 * @module
 */

import { innermostOf } from "./allocation_sites.ts";

/** Something that was done to memory and must not be. */
export interface MemoryViolation {
  /**
   * - `overrun`: bytes before or behind the buffer were written;
   * - `use after free`: bytes of the buffer were written after it was freed;
   * - `double free`: it was freed again.
   */
  readonly kind: "overrun" | "use after free" | "double free";
  /** The buffer's address; 0 where nothing is known of it any more. */
  readonly address: number;
  /** The buffer's size in bytes. */
  readonly bytes: number;
  /**
   * The first byte that was written, counted from the beginning of the buffer: below 0 before it,
   * and from its size on behind it. `null` for a double free.
   */
  readonly offset: number | null;
  /** How many bytes are not what they were; at most the guard's on that side. */
  readonly damaged: number;
  /** What was found from the first of them on: up to eight bytes, in hexadecimal. */
  readonly found: string;
  /** The stack that allocated the buffer, innermost frame first. */
  readonly allocatedAt: string;
  /** The stack that freed it; `null` while it is live. */
  readonly freedAt: string | null;
}

function bytesText(count: number): string {
  return count === 1 ? "1 byte" : `${count} bytes`;
}

/** What happened, in words. */
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

/** Violations told in the message; all of them are in `violations`. */
const TOLD = 3;

/**
 * Debug mode has found memory that somebody wrote to and must not, or a buffer that was freed
 * twice. What was asked for is done nevertheless, but for freeing twice.
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
 */
export class MemoryCorruptionError extends Error {
  /** The class's name, for what prints errors. */
  override readonly name: string = "MemoryCorruptionError";
  /** The device, as messages name it. */
  readonly device: string;
  /** What was found; at least one. */
  readonly violations: readonly MemoryViolation[];

  /**
   * Makes the error.
   *
   * @internal
   * @param action What was being done, as in "Cannot <action>".
   */
  constructor(action: string, device: string, violations: readonly MemoryViolation[]) {
    const rest = violations.length - TOLD;
    const told = violations.slice(0, TOLD).map(describe).join("; ") +
      (rest > 0 ? `; and ${rest} more` : "");
    super(`Cannot ${action} on ${device} without finding memory corrupted: ${told}`);
    this.device = device;
    this.violations = violations;
  }
}
