/**
 * Checks of the arguments of operations.
 *
 * @module
 */

import { cannot, requireInstance } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { type DType, integerRange, isFloatDType } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";
import { extentOf, type Layout, type Shape, shapeText } from "./layout.ts";
import { promote } from "./promotion.ts";
import { storageOf, Tensor } from "../tensor.ts";

/**
 * A tensor, or a number that takes the element type of the tensors.
 * @category Tensors
 */
export type Operand = Tensor | number | bigint | boolean;

/**
 * The element type of an operand: a number takes the type of the other operand.
 * @category Tensors
 */
export type TypeOf<Y, D extends DType> = Y extends Tensor<infer E> ? E : D;

/**
 * Options of operations on tensors.
 * @category Tensors
 */
export interface TensorOptions {
  /** The stream to run on; the device's default stream by default. */
  readonly stream?: Stream;
}

/** Refuses values that are no tensors, or are freed. */
export function requireTensor(value: unknown, name: string, action: string): Tensor {
  requireInstance(value, Tensor, name, action);
  value.requireUsable(action, name);
  return value;
}

/** Refuses values that are no tensors with memory. */
export function requireStored(value: unknown, name: string, action: string): Tensor {
  const tensor = requireTensor(value, name, action);
  storageOf(tensor);
  return tensor;
}

/** Refuses values that are no array of so many tensors with memory. */
export function requireTensors(
  value: unknown,
  name: string,
  action: string,
  least = 0,
): readonly Tensor[] {
  if (!Array.isArray(value) || value.length < least) {
    const allowed = least === 0 ? "an array" : "an array of at least one tensor";
    throw new TypeError(
      `${cannot(action)} as ${name} must be ${allowed}: it is ${describeValue(value)}`,
    );
  }
  return value.map((it, index) => requireStored(it, `${name}[${index}]`, action));
}

/** Refuses a tensor of another element type than the allowed ones. */
export function requireDType(
  value: unknown,
  name: string,
  allowed: readonly DType[],
  action: string,
): Tensor {
  const tensor = requireTensor(value, name, action);
  if (allowed.includes(tensor.dtype)) return tensor;
  throw new TypeError(
    `${cannot(action)} as ${name} must be ${allowed.join(" or ")}: it is ${tensor.dtype}`,
  );
}

/** The context of one or more tensors, which must be on one device. */
export function commonContext(action: string, tensors: readonly Tensor[]): DeviceContext {
  const { context } = tensors[0]!;
  for (const other of tensors) {
    if (other.context === context || other.context.isSameDevice(context)) continue;
    throw new TypeError(
      `${
        cannot(action)
      } as the tensors must be on one device: they are on ${context.label} and ${other.context.label}. Move one by to("${context.label}")`,
    );
  }
  return context;
}

/** A number as an element of a type, as kernels take it. */
export function scalarFor(value: number | bigint | boolean, dtype: DType, action: string) {
  const refuse = (allowed: string): never => {
    throw new TypeError(
      `${cannot(action)} as a number must be ${allowed} with ${dtype} tensors: it is ${
        describeValue(value)
      }. Cast the tensor to another type, such as float32, first`,
    );
  };
  if (dtype === "bool") return typeof value === "boolean" ? value : refuse("true or false");
  if (isFloatDType(dtype)) return Number(value);
  const range = integerRange(dtype)!;
  if (typeof value === "number" && !Number.isInteger(value)) refuse("an integer");
  const integer = BigInt(value);
  if (integer < range.lowest || integer > range.highest) {
    refuse(`in ${range.lowest}..${range.highest}`);
  }
  return /64$/.test(dtype) ? integer : Number(integer);
}

/** The common element type of operands; numbers take the tensors' type. */
export function commonType(action: string, operands: readonly Operand[]): DType {
  let common: DType | undefined;
  for (const operand of operands) {
    if (!(operand instanceof Tensor)) continue;
    const { dtype }: Tensor = operand;
    const wider = common === undefined || common === dtype ? dtype : promote(common, dtype);
    if (wider === undefined) {
      throw new TypeError(
        `${cannot(action)} as the element types must have a common one: they are ${common} and ` +
          `${dtype}. Cast one of them first`,
      );
    }
    common = wider;
  }
  if (common === undefined) {
    throw new TypeError(`${cannot(action)} as an operand must be a tensor: there is none`);
  }
  return common;
}

/** Whether two layouts in one storage address the same elements in the same order. */
function isSameView(a: Layout, b: Layout): boolean {
  return a.offset === b.offset && a.shape.length === b.shape.length &&
    a.shape.every((extent, axis) => extent === b.shape[axis]) &&
    a.strides.every((stride, axis) => stride === b.strides[axis] || a.shape[axis] === 1);
}

/** Refuses to write a tensor whose elements share memory. */
export function requireDistinct(action: string, name: string, { size, shape, strides }: Tensor) {
  // The strides of empty tensors say nothing.
  if (size === 0 || !strides.some((stride, axis) => stride === 0 && shape[axis]! > 1)) return;
  throw new RangeError(
    `${cannot(action)} as ${name} must not repeat elements: it is broadcast`,
  );
}

/** Checks a tensor that takes a result. */
export function requireOut(
  action: string,
  out: Tensor,
  { shape, dtype }: { readonly shape: Shape; readonly dtype: DType },
  inputs: readonly Tensor[],
): Tensor {
  if (out.dtype !== dtype) {
    throw new TypeError(`${cannot(action)} as options.out must be ${dtype}: it is ${out.dtype}`);
  }
  if (out.shape.length !== shape.length || out.shape.some((it, axis) => it !== shape[axis])) {
    throw new RangeError(
      `${cannot(action)} as options.out must have the shape ${shapeText(shape)}: it has ${
        shapeText(out.shape)
      }`,
    );
  }
  requireDistinct(action, "options.out", out);
  const [first, last] = extentOf(out);
  for (const input of inputs) {
    if (storageOf(input) !== storageOf(out) || out.size === 0 || input.size === 0) continue;
    const [from, to] = extentOf(input);
    if (to < first || from > last || isSameView(input, out)) continue;
    throw new RangeError(
      `${cannot(action)} as options.out must not overlap an operand: both are views of one buffer`,
    );
  }
  return out;
}
