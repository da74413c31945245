/**
 * The precision of matrix products and of attention.
 *
 * @module
 */

import { cannot, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { contextOf, type DeviceContext } from "../../hardware/device_context.ts";
import type { DType } from "../../memory/dtype.ts";
import { castNode, type ExpressionNode, operationNode } from "./expression/node.ts";

/**
 * The type to which the operands of matrix products are rounded: `auto` and `fp32` do not round
 * `float32`; `tf32` keeps 10 bits of the fraction, and `fp16`, `bf16` and `fp8` (`float8_e4m3`, which
 * saturates at 448) are element types.
 *
 * Products are exact or rounded to `float32`, and always added up in `float32`. cuBLASLt permits
 * narrower operands only and rounds by rules of its own, so it takes `float32` in `auto` and `fp32` alone.
 * @category Linear algebra
 */
export type PrecisionMode = "auto" | "fp32" | "tf32" | "fp16" | "bf16" | "fp8";

/** The compute capabilities that have the units of a mode. */
const NEEDS: Readonly<Record<PrecisionMode, string>> = {
  auto: "0.0",
  fp32: "0.0",
  tf32: "8.0",
  fp16: "7.0",
  bf16: "8.0",
  fp8: "8.9",
};

const MODES = Object.keys(NEEDS) as readonly PrecisionMode[];

/**
 * The modes among which `auto` may choose: those with tensor cores.
 * @category Linear algebra
 */
export type NarrowPrecision = "tf32" | "fp16" | "bf16";
const NARROW: readonly NarrowPrecision[] = ["tf32", "fp16", "bf16"];

/** What `setPrecision()` has set: a mode, and the modes that `auto` may choose, the preferred first. */
interface Policy {
  readonly mode: PrecisionMode;
  readonly allow: readonly NarrowPrecision[];
}

let general: Policy = { mode: "auto", allow: [] };
const policies = new WeakMap<DeviceContext, Policy>();

/** A compute capability as a number: 8.9 is 809, and 12.0 is 1200. */
export function capability(text: string): number {
  const [major, minor] = text.split(".").map(Number);
  return 100 * major! + minor!;
}

function requireMode(mode: unknown, action: string, context?: DeviceContext): PrecisionMode {
  if (!MODES.includes(mode as PrecisionMode)) {
    throw new TypeError(
      `${cannot(action)} as the precision must be one of ${MODES.join(", ")}: it is ${
        describeValue(mode)
      }`,
    );
  }
  const known = mode as PrecisionMode;
  if (context !== undefined && !hasUnits(context, known)) {
    throw new RangeError(
      `${cannot(action)} as precision ${known} must have a device of compute capability ` +
        `${NEEDS[known]} or higher: ${context.label} has ${context.info.computeCapability}`,
    );
  }
  return known;
}

/** Whether a device has the units for a mode. */
function hasUnits({ info }: DeviceContext, mode: PrecisionMode): boolean {
  const { computeCapability } = info;
  return computeCapability === undefined ||
    capability(computeCapability) >= capability(NEEDS[mode]);
}

/** Checks the modes that `auto` may choose. */
function requireAllowed(allow: unknown, mode: PrecisionMode, action: string) {
  if (allow === undefined) return [];
  const isList = Array.isArray(allow) && allow.every((each) => NARROW.includes(each));
  if (!isList) {
    refuseOption(TypeError, action, "allow", `an array of ${NARROW.join(", ")}`, allow);
  }
  if (mode !== "auto") {
    throw new TypeError(
      `${cannot(action)} as options.allow must go with the mode auto: the mode is ${mode}`,
    );
  }
  return Array.from(allow as readonly NarrowPrecision[]);
}

/**
 * Sets the precision of the matrix products and of the attention of operands of up to 32 bits that name
 * none themselves.
 *
 * | operands                   | products                          | attention             | norms, softmax, others |
 * | -------------------------- | --------------------------------- | --------------------- | ---------------------- |
 * | `float32`                  | in the mode                       | `fp16`, `bf16`: there | `float32`              |
 * | `float32`, `auto`, `allow` | in the first that the device has  | the same              | `float32`              |
 * | `float16`, `bfloat16`      | in the mode; `auto`: as they are  | as they are           | `float32` inside       |
 * | `float64`, integers        | as they are                       | –                     | as they are            |
 *
 * Results have the element type that they would have without. Attention has no kernels for `tf32` and
 * `fp8` and computes these in `float32`.
 *
 * @param mode The precision; `auto` is the default.
 * @param options `device`: the device; without, all devices that have no setting of their own. `allow`,
 * with the mode `auto`: the modes among which it chooses by the hardware, the preferred first, such as
 * `["bf16", "tf32"]`: the first whose units the device has, else `float32`. None by default. The host
 * device has the units of its compute capability, so results are those of a GPU of this capability.
 * @throws {TypeError} If there is no such mode.
 * @throws {RangeError} If the device lacks the units for the mode: FP16 needs compute capability
 * 7.0, TF32 and BF16 8.0, FP8 8.9. Without a device, the products throw it.
 *
 * @example
 * ```ts
 * import { matmul, setPrecision, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1.001, 0], [0, 1]]);
 * setPrecision("auto", { allow: ["bf16", "tf32"] });
 * using y = matmul(x, x);
 * console.log(await y.toNested()); // [ [ 1, 0 ], [ 0, 1 ] ]
 * setPrecision("auto");
 * ```
 * @category Linear algebra
 */
export function setPrecision(
  mode: PrecisionMode,
  options: {
    readonly device?: { readonly context: DeviceContext };
    readonly allow?: readonly NarrowPrecision[];
  } = {},
): void {
  const action = "set the precision";
  requireOptions(options, ["device", "allow"], action);
  const { device } = options;
  const context = device && contextOf(device, "options.device", action);
  const known = requireMode(mode, action, context);
  const policy = { mode: known, allow: requireAllowed(options.allow, known, action) };
  if (context === undefined) general = policy;
  else policies.set(context, policy);
}

/**
 * The precision of a product or of attention.
 *
 * @param requested That of the call.
 * @param dtype The common element type of the operands.
 */
export function precisionOf(
  context: DeviceContext,
  requested: PrecisionMode | undefined,
  dtype: DType,
  action: string,
): PrecisionMode {
  const isAffected = ["float16", "bfloat16", "float32"].includes(dtype);
  if (isAffected) {
    const { mode, allow } = policies.get(context) ?? general;
    // Only an absent precision is the device's: null is refused like any other value.
    const chosen = requireMode(requested === undefined ? mode : requested, action, context);
    if (chosen !== "auto" || dtype !== "float32") return chosen;
    return allow.find((narrow) => hasUnits(context, narrow)) ?? "auto";
  }
  if (requested === undefined || requireMode(requested, action) === "auto") return "auto";
  throw new TypeError(
    `${
      cannot(action)
    } as precision ${requested} must have operands of float16, bfloat16 or float32: ` +
      `they are ${dtype}`,
  );
}

/** An operand as `float32`, rounded to the precision of a product. */
export function roundedNode(node: ExpressionNode, mode: PrecisionMode): ExpressionNode {
  const value = castNode(node, "float32");
  if (mode === "auto" || mode === "fp32") return value;
  if (mode === "tf32") return operationNode("roundTf32", [value], "float32");
  const dtype = mode === "fp8" ? "float8_e4m3" : mode === "fp16" ? "float16" : "bfloat16";
  return castNode(castNode(node, dtype), "float32");
}
