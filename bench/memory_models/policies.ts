/**
 * All replay policies: the memory pool of this package and the models of other allocators.
 *
 * @module
 */

import { REPLAY_POLICIES, type ReplayPolicy } from "../../src/lab/memory/mod.ts";
import { CUPY } from "./cupy.ts";
import type { ModelPolicy } from "./model_allocator.ts";
import { PYTORCH, PYTORCH_EXPANDABLE } from "./pytorch.ts";
import { BINNING, RMM } from "./rmm.ts";

/** The models of other allocators. */
export const MODELS: readonly ModelPolicy[] = [PYTORCH, PYTORCH_EXPANDABLE, RMM, CUPY, BINNING];

/** All policies, in the order of tables. */
export const ALL_POLICIES: readonly ReplayPolicy[] = [...REPLAY_POLICIES, ...MODELS];

/** Finds a policy by its name. */
export function policyNamed(name: string): ReplayPolicy {
  const policy = ALL_POLICIES.find((candidate) => candidate.name === name);
  if (policy !== undefined) return policy;
  const names = ALL_POLICIES.map((candidate) => candidate.name).join(", ");
  throw new RangeError(`Cannot replay as policy must be one of ${names}: it is "${name}"`);
}
