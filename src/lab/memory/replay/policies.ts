/**
 * The policies that traces can be replayed against, by name.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import { CUPY } from "./cupy_pool.ts";
import { GRIDSTRIDE, GRIDSTRIDE_PLAIN } from "./gridstride_pool.ts";
import { PYTORCH_EXPANDABLE } from "./pytorch_expandable.ts";
import { PYTORCH } from "./pytorch_segments.ts";
import type { ReplayPolicy } from "./replay_policy.ts";
import { BINNING } from "./rmm_binning.ts";
import { RMM } from "./rmm_pool.ts";

/** All policies, in the order of tables. */
export const REPLAY_POLICIES: readonly ReplayPolicy[] = [
  GRIDSTRIDE,
  GRIDSTRIDE_PLAIN,
  PYTORCH,
  PYTORCH_EXPANDABLE,
  RMM,
  CUPY,
  BINNING,
];

/**
 * Finds a policy by its name.
 *
 * @throws {RangeError} If there is none of that name; it lists them all.
 *
 * @example
 * ```ts
 * import { replayPolicy } from "@gridstride/cuda/memory";
 *
 * console.log(replayPolicy("cupy").description);
 * ```
 */
export function replayPolicy(name: string): ReplayPolicy {
  const policy = REPLAY_POLICIES.find((candidate) => candidate.name === name);
  if (policy !== undefined) return policy;
  const names = REPLAY_POLICIES.map((candidate) => candidate.name).join(", ");
  throw new RangeError(
    `Cannot replay as policy must be one of ${names}: it is ${describeValue(name)}`,
  );
}
