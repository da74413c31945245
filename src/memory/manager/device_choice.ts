/**
 * Which of several devices gets the next buffer.
 *
 * @module
 */

/**
 * How a device is chosen, where no affinity says so.
 *
 * `free-memory`: the device with the most room. `load`: the device that has given out the smallest
 * share of what it can, so that small devices fill as fast as large ones.
 */
export type BalanceRule = "free-memory" | "load";

/** The rules. */
export const BALANCE_RULES: readonly BalanceRule[] = ["free-memory", "load"];

/** What the choice needs to know of a device. Sizes are bytes. */
export interface DeviceRoom {
  /** Its ordinal. */
  readonly ordinal: number;
  /** What buffers may take of it in all. */
  readonly capacity: number;
  /** What buffers hold now. */
  readonly live: number;
}

/** What is left of a device; below zero where others have taken more than expected. */
export function roomOf({ capacity, live }: DeviceRoom): number {
  return capacity - live;
}

/** The share of a device that would be in use with another buffer on it. */
function loadWith({ capacity, live }: DeviceRoom, bytes: number): number {
  return capacity === 0 ? Infinity : (live + bytes) / capacity;
}

/**
 * The devices for a request, best first. Those without room for it come last, by how much they
 * have: a device may still find some by giving back what it caches. Ties go to the lower ordinal.
 */
export function devicesFor(
  devices: readonly DeviceRoom[],
  bytes: number,
  rule: BalanceRule,
): DeviceRoom[] {
  return devices.toSorted((a, b) => {
    const fits = Number(roomOf(b) >= bytes) - Number(roomOf(a) >= bytes);
    if (fits !== 0) return fits;
    const byRule = rule === "load" && roomOf(a) >= bytes
      ? loadWith(a, bytes) - loadWith(b, bytes)
      : roomOf(b) - roomOf(a);
    return byRule || a.ordinal - b.ordinal;
  });
}
