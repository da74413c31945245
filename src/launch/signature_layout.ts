/**
 * The parameters of a kernel as the native library counts them.
 *
 * @module
 */

import type { ScalarType } from "./c_types.ts";
import { type KernelParameter, type KernelSignature, slotsOf } from "./signature.ts";

/** The kinds of parameters: `GS_PARAMETER_*` of `csrc/gridstride_kernel.h`. */
export const PARAMETER_KINDS = {
  boolean: 0,
  signed: 1,
  unsigned: 2,
  float16: 3,
  bfloat16: 4,
  float32: 5,
  float64: 6,
  pointer: 7,
  bytes: 8,
} as const;

/** A parameter as the native library sees it. */
export interface ParameterLayout {
  /** One of {@linkcode PARAMETER_KINDS}. */
  readonly kind: number;
  /** Its size in bytes. */
  readonly bytes: number;
  /** What its place among the kernel's parameters is a multiple of, in bytes. */
  readonly alignment: number;
  /** The argument slot, from 0, that it begins at. */
  readonly slot: number;
  /** How many argument slots of 8 bytes it fills. */
  readonly slots: number;
}

function scalarKind(type: ScalarType): number {
  switch (type) {
    case "bool":
      return PARAMETER_KINDS.boolean;
    case "float64":
    case "float32":
    case "float16":
    case "bfloat16":
      return PARAMETER_KINDS[type];
    case "float8_e4m3":
    case "float8_e5m2":
      return PARAMETER_KINDS.bytes;
    default:
      return type.startsWith("uint") ? PARAMETER_KINDS.unsigned : PARAMETER_KINDS.signed;
  }
}

function kindOf(parameter: KernelParameter): number {
  if (parameter.kind === "scalar") return scalarKind(parameter.type);
  return parameter.kind === "pointer" ? PARAMETER_KINDS.pointer : PARAMETER_KINDS.bytes;
}

/**
 * The parameters of a signature as the native library sees them.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { parseSignature } from "./signature.ts";
 * import { parameterLayout } from "./signature_layout.ts";
 *
 * const [, velocity, x] = parameterLayout(parseSignature("f(int n, float3 velocity, float* x)"));
 * assertEquals(velocity, { kind: 8, bytes: 12, alignment: 4, slot: 1, slots: 2 });
 * assertEquals(x!.slot, 3);
 * ```
 */
export function parameterLayout(signature: KernelSignature): readonly ParameterLayout[] {
  let slot = 0;
  return signature.parameters.map((parameter) => {
    const { bytes, alignment } = parameter;
    const slots = slotsOf(parameter);
    const layout = { kind: kindOf(parameter), bytes, alignment, slot, slots };
    slot += slots;
    return layout;
  });
}
