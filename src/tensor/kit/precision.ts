/**
 * The precision of matrix products.
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
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

let general: PrecisionMode = "auto";
const policies = new WeakMap<DeviceContext, PrecisionMode>();

/** A compute capability as a number: 8.9 is 809, and 12.0 is 1200. */
export function capability(text: string): number {
  const [major, minor] = text.split(".").map(Number);
  return 100 * major! + minor!;
}

function requireMode(mode: unknown, action: string, context?: DeviceContext): PrecisionMode {
  if (!MODES.includes(mode as PrecisionMode)) {
    throw new TypeError(
      `Cannot ${action} as the precision must be one of ${MODES.join(", ")}: it is ${
        describeValue(mode)
      }`,
    );
  }
  const needed = NEEDS[mode as PrecisionMode];
  const available = context?.info.computeCapability;
  if (available !== undefined && capability(available) < capability(needed)) {
    throw new RangeError(
      `Cannot ${action} as precision ${mode} must have a device of compute capability ${needed} or ` +
        `higher: ${context!.label} has ${available}`,
    );
  }
  return mode as PrecisionMode;
}

/**
 * Sets the precision of the matrix products of operands of up to 32 bits that name none themselves.
 * Products of `float64` and of integers are not affected.
 *
 * @param mode The precision; `auto` is the default.
 * @param options `device`: the device; without, all devices that have no setting of their own.
 * @throws {TypeError} If there is no such mode.
 * @throws {RangeError} If the device lacks the units for the mode: FP16 needs compute capability
 * 7.0, TF32 and BF16 8.0, FP8 8.9. Without a device, the products throw it.
 *
 * @example
 * ```ts
 * import { matmul, setPrecision, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1.001, 0], [0, 1]]);
 * setPrecision("bf16");
 * using y = matmul(x, x);
 * console.log(await y.toNested()); // [ [ 1, 0 ], [ 0, 1 ] ]
 * setPrecision("auto");
 * ```
 * @category Linear algebra
 */
export function setPrecision(
  mode: PrecisionMode,
  options: { readonly device?: { readonly context: DeviceContext } } = {},
): void {
  const action = "set the precision";
  requireOptions(options, ["device"], action);
  const { device } = options;
  if (device === undefined) {
    general = requireMode(mode, action);
    return;
  }
  const context = contextOf(device, "options.device", action);
  policies.set(context, requireMode(mode, action, context));
}

/**
 * The precision of a product.
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
    return requireMode(requested ?? policies.get(context) ?? general, action, context);
  }
  if (requested === undefined || requireMode(requested, action) === "auto") return "auto";
  throw new TypeError(
    `Cannot ${action} as precision ${requested} must have operands of float16, bfloat16 or float32: ` +
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
