/**
 * From what was found in memory to what is told of it.
 *
 * @module
 */

import type { CapturedSite } from "./allocation_sites.ts";
import type { Damage, GuardedRange } from "./block_guards.ts";
import type { MemoryViolation } from "./memory_corruption.ts";

/** Violations of a buffer, from the damage that was found. */
export function violationsOf(
  kind: MemoryViolation["kind"],
  damage: readonly (Omit<Damage, "offset"> & { readonly offset: number | null })[],
  buffer: { readonly range: GuardedRange; readonly site: CapturedSite },
  freedAt: CapturedSite | undefined,
): MemoryViolation[] {
  const { range: { address, bytes }, site } = buffer;
  return damage.map((each) => ({
    kind,
    address,
    bytes,
    ...each,
    allocatedAt: site.text,
    freedAt: freedAt?.text ?? null,
  }));
}
