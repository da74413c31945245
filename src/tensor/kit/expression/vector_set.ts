/**
 * The vector instructions that kernels of the host device are compiled for.
 *
 * @module
 */

import { LOOP_FLAGS, type VectorSet, vectorSets } from "../../../ffi/build/vector_sets.ts";
import { EnvironmentError } from "../../../ffi/granted_environment.ts";
import { environment } from "../../../hardware/device_list.ts";
import { HOST_VECTORS_VARIABLE } from "../../../hardware/environment.ts";

/**
 * The vector instructions of kernels that are compiled from now on: those of the processor, or the
 * smaller set that `GRIDSTRIDE_HOST_VECTORS` names.
 *
 * `portable` means no instructions beyond those that the host library is compiled for.
 *
 * @throws {EnvironmentError} If the variable names a set that the processor lacks.
 */
export function hostVectors(): VectorSet {
  const allowed = vectorSets();
  const requested = environment.hostVectors;
  if (requested === undefined) return allowed[0]!;
  if (allowed.includes(requested)) return requested;
  throw new EnvironmentError(
    HOST_VECTORS_VARIABLE,
    requested,
    allowed.join(", "),
    `the processor has no ${requested}`,
  );
}

/** The set of {@linkcode hostVectors} and those that it contains, the widest first. */
export function hostVectorSets(): readonly VectorSet[] {
  const all = vectorSets();
  return all.slice(all.indexOf(hostVectors()));
}

/** The compiler's options for a template that is a loop over elements. */
export function loopOptions(set: VectorSet = hostVectors()): readonly string[] {
  return [...LOOP_FLAGS, `--host-vectors=${set}`];
}
