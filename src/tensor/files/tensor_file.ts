/**
 * Files with tensors: where their bytes come from, the error for unusable ones, and uploads.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { namedFile, readNamed } from "../../launch/module/named_file.ts";
import { bytesPerElement, type DType, requireArrayOf, typedArrayOver } from "../../memory/dtype.ts";
import { requireTensor } from "../kit/checks.ts";
import { type CreationOptions, fromTypedArray } from "../creation.ts";
import { MAX_RANK, type Shape } from "../kit/layout.ts";
import type { Tensor } from "../tensor.ts";

/**
 * Thrown for a file that holds no usable tensors: cut short, malformed, inconsistent, or of an
 * unsupported element type.
 * @category Files of tensors
 */
export class TensorFileError extends Error {
  /** The name of the class. */
  override name = "TensorFileError";
  /** The problem alone; completes "it …". */
  readonly problem: string;

  /** Makes an error that says "Cannot read `subject` as it `problem`". */
  constructor(problem: string, subject = "the file", options?: ErrorOptions) {
    super(`Cannot read ${subject} as it ${problem}`, options);
    this.problem = problem;
  }
}

/** Calls a function whose errors name no file, and adds the name. */
export async function namingFile<Result>(
  subject: string,
  f: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await f();
  } catch (error) {
    if (!(error instanceof TensorFileError)) throw error;
    throw new TensorFileError(error.problem, subject, { cause: error.cause });
  }
}

/** The array of a tensor in a file: row-major, in the machine's byte order. */
export interface FileArray {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The bytes of a file, and its name in messages. */
export async function readSource(
  source: string | URL | Uint8Array,
  action: string,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly subject: string }> {
  if (!ArrayBuffer.isView(source)) {
    const bytes = await readNamed(namedFile(source, action, "source"), action, Deno.readFile);
    return { bytes, subject: String(source) };
  }
  const bytes = requireArrayOf(source, "uint8", action, "source");
  const unshared = bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice();
  return { bytes: unshared as Uint8Array<ArrayBuffer>, subject: "the file" };
}

/** The bytes that an array needs; more than a number holds if a header lies. */
export function neededBytes(shape: Shape, elementBytes: number): bigint {
  return shape.reduce((product, extent) => product * BigInt(extent), BigInt(elementBytes));
}

/** Whether a value is an extent or an offset. */
export function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** A tensor with the elements of an array in a file. */
export function uploadArray(
  { dtype, shape, bytes }: FileArray,
  { device, stream }: CreationOptions,
): Tensor {
  if (shape.length > MAX_RANK) {
    throw new TensorFileError(`has ${shape.length} dimensions: tensors have at most ${MAX_RANK}`);
  }
  const size = bytesPerElement(dtype);
  let elements = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  // Kernels rely on bools that are 0 or 1.
  if (dtype === "bool" && elements.some((byte) => byte > 1)) {
    elements = elements.map((byte) => Number(byte !== 0));
  }
  const { buffer, byteOffset } = elements;
  const array = typedArrayOver(dtype, buffer, byteOffset, elements.length / size);
  return fromTypedArray(array, shape, { ...device && { device }, ...stream && { stream }, dtype });
}

/** The tensors of all arrays in a file, by name; none are left if one does not fit. */
export async function uploadArrays(
  subject: string,
  arrays: readonly (readonly [string, FileArray])[],
  options: CreationOptions,
): Promise<Record<string, Tensor>> {
  const tensors: [string, Tensor][] = [];
  try {
    for (const [name, array] of arrays) {
      const upload = () => uploadArray(array, options);
      tensors.push([name, await namingFile(entrySubject(name, subject), upload)]);
    }
    return Object.fromEntries(tensors);
  } catch (error) {
    for (const [, tensor] of tensors) tensor.dispose();
    throw error;
  }
}

/** A tensor of a file in messages. */
export function entrySubject(name: string, subject: string): string {
  return `${JSON.stringify(name)} in ${subject}`;
}

/** Checks tensors by name. */
export function requireTensors(
  tensors: Readonly<Record<string, Tensor>>,
  action: string,
): [string, Tensor][] {
  requireObject(tensors, "tensors", action);
  return Object.entries(tensors).map(([name, tensor]) => [
    name,
    requireTensor(tensor, `tensors[${JSON.stringify(name)}]`, action),
  ]);
}

/** The bytes of a tensor's elements in row-major order. */
export async function bytesOf(tensor: Tensor): Promise<Uint8Array<ArrayBuffer>> {
  const { buffer, byteOffset, byteLength } = await tensor.toArray();
  return new Uint8Array(buffer, byteOffset, byteLength);
}
