/**
 * Why an argument cannot be passed to a kernel, in words. Runs only once a launch is refused, so
 * it may take its time to find the reason.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import { isDType } from "../memory/dtype.ts";
import { integerRange } from "./c_types.ts";
import type { MemoryLocation, ReadonlyDeviceMemory } from "./device_memory.ts";
import type {
  KernelParameter,
  KernelSignature,
  PointerParameter,
  ScalarParameter,
  StructParameter,
  VectorParameter,
} from "./signature.ts";
import { parameterTypeText, signatureText } from "./signature_text.ts";
import { encodeStruct } from "./struct_encoding.ts";
import { encodeVector, encodingError, type EncodingProblem } from "./value_encoding.ts";

/** Whether a value is device memory at all, of whatever type and device. */
export function isDeviceMemory(value: unknown): value is ReadonlyDeviceMemory {
  if (typeof value !== "object" || value === null) return false;
  const { context, dtype } = value as Partial<ReadonlyDeviceMemory>;
  return isDType(dtype) && typeof context === "object" && context !== null && "address" in value;
}

/** Whether two locations are the same device of the same library. */
export function isSameLocation(one: MemoryLocation, other: MemoryLocation): boolean {
  return one.library === other.library && one.ordinal === other.ordinal;
}

/** The error for a wrong number of arguments. */
export function argumentCountError(
  signature: KernelSignature,
  given: number | `more than ${number}`,
): TypeError {
  const expected = signature.parameters.length;
  return new TypeError(
    `Cannot launch ${signatureText(signature)} as it takes ${expected} ` +
      `${expected === 1 ? "argument" : "arguments"}: there ${given === 1 ? "is" : "are"} ${given}`,
  );
}

/**
 * The error for an argument that its parameter does not take.
 *
 * @param index The parameter, counted from 0.
 * @param value What was passed for it.
 * @param location The device that the kernel is launched on.
 */
export function argumentError(
  signature: KernelSignature,
  index: number,
  value: unknown,
  location: MemoryLocation,
): TypeError | RangeError {
  const parameter = signature.parameters[index]!;
  const name = argumentName(parameter, index, signature.parameters.length);
  const subject = `Cannot launch ${signature.name} as ${name}`;
  switch (parameter.kind) {
    case "pointer":
      return new TypeError(`${subject} must be ${pointerProblem(parameter, value, location)}`);
    case "scalar":
      return scalarError(`${subject} must be`, parameter, value);
    default:
      return encodingError(subject, bytesProblem(parameter, value));
  }
}

function argumentName(parameter: KernelParameter, index: number, count: number): string {
  const place = `${index + 1} of ${count}`;
  return parameter.name === undefined
    ? `argument ${place}`
    : `argument ${parameter.name} (${place})`;
}

function pointerProblem(
  parameter: PointerParameter,
  value: unknown,
  location: MemoryLocation,
): string {
  const { dtype } = parameter;
  const memory = dtype === undefined ? "device memory" : `${dtype} device memory`;
  if (!isDeviceMemory(value)) {
    const where = ArrayBuffer.isView(value) ? ", which lies in host memory" : "";
    return `${memory}: it is ${describeValue(value)}${where}`;
  }
  if (dtype !== undefined && value.dtype !== dtype) return `${memory}: it is ${value.dtype}`;
  if (value.disposed) return `${memory}: it is disposed`;
  if (!isSameLocation(value.context, location)) {
    return `memory of ${location.label}: it is memory of ${value.context.label}`;
  }
  if (typeof value.address !== "number") {
    return `${memory}: its address is ${describeValue(value.address)}`;
  }
  if (value.address % parameter.pointeeAlignment !== 0) {
    return `at an address that is a multiple of ${parameter.pointeeAlignment}, as the kernel takes ` +
      `${parameterTypeText(parameter)}: it is 0x${value.address.toString(16)}`;
  }
  return value.readOnly === true && !parameter.isConst
    ? `writable, as the kernel takes ${parameterTypeText(parameter)}: it is read-only`
    : `${memory} that is the same when it is read again: it is ${describeValue(value)}`;
}

/** What is wrong with a value that is passed as bytes: it is encoded once more. */
function bytesProblem(
  parameter: VectorParameter | StructParameter,
  value: unknown,
): EncodingProblem {
  const view = new DataView(new ArrayBuffer(parameter.bytes));
  const problem = parameter.kind === "vector"
    ? encodeVector(parameter.type, value, view, 0)
    : encodeStruct(parameter.type, value, view, 0);
  // A getter may have changed its mind since.
  return problem ?? { path: "", allowed: "the same when it is read again", value, isRange: false };
}

function scalarError(
  action: string,
  parameter: ScalarParameter,
  value: unknown,
): TypeError | RangeError {
  const it = `it is ${describeValue(value)}`;
  if (parameter.type === "bool") return new TypeError(`${action} a boolean: ${it}`);
  const range = integerRange(parameter.type);
  if (range === undefined) return new TypeError(`${action} a number: ${it}`);
  const allowed = `an integer in ${range.lowest}..${range.highest}`;
  if (parameter.bytes < 8) {
    const ErrorClass = typeof value === "number" ? RangeError : TypeError;
    return new ErrorClass(`${action} ${allowed}: ${it}`);
  }
  const ErrorClass = typeof value === "number" || typeof value === "bigint"
    ? RangeError
    : TypeError;
  return new ErrorClass(
    `${action} ${allowed}, beyond ${Number.MAX_SAFE_INTEGER} as a bigint: ${it}`,
  );
}
