/**
 * Calls of generated kernels: one record of what a kernel takes makes its parameters, their values
 * and the key by which its compiled form is found.
 *
 * @module
 */

import { cannot } from "../../ffi/arguments.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { KernelArgument } from "../../launch/signature/signature_types.ts";
import { cTypeOf, type DType } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";
import type { DeviceWork } from "./device_work.ts";
import { kernelName, type KernelText } from "./expression/kernel_text.ts";
import { valueType } from "./expression/operations.ts";
import type { WrittenStorage } from "./operation/operation.ts";
import { refuseCapture } from "./operation/reports.ts";
import { denseStrides, type Shape, sizeOf } from "./layout.ts";
import { TensorStorage } from "./storage.ts";
import { makeTensor, storageOf, type Tensor } from "../tensor.ts";

/** A number that a kernel takes as an element of a type. */
export interface Scalar {
  readonly dtype: DType;
  readonly value: number | bigint | boolean;
}

/** The parameters of a kernel and their values, by the names that its code uses. */
export interface KernelParameters {
  /** Tensors to read: pointers to the beginning of their memory. */
  readonly inputs: Readonly<Record<string, Tensor>>;
  /** Tensors to write: pointers to the beginning of their memory. */
  readonly results: Readonly<Record<string, Tensor>>;
  /** Numbers of element types. */
  readonly scalars?: Readonly<Record<string, Scalar>>;
  /** 64-bit integers: offsets, strides, sizes. */
  readonly numbers: Readonly<Record<string, number>>;
  /**
   * The error for a value that the code reports by `report(faults, operation, value)`; the kernel
   * has these two parameters, too.
   */
  readonly error?: ((value: bigint) => Error) | undefined;
}

/** The C++ of a kernel without its parameters. */
export interface KernelCode
  extends Pick<KernelText, "template" | "vectors" | "constants" | "launchBounds" | "definitions"> {
  /** The element types that the code names beside those of the parameters. */
  readonly dtypes?: Iterable<DType>;
  readonly body: string;
}

/** The blocks of a launch, and the threads of each. */
export interface LaunchSize {
  readonly grid: number;
  readonly block: number;
  /** Bytes of dynamic shared memory. */
  readonly sharedMemory?: number;
}

/** A call of a generated kernel. */
export interface KernelCall extends KernelParameters {
  /** The operation, which names the kernel. */
  readonly action: string;
  /**
   * Distinguishes the kernel from others whose parameters have the same types: by its code and by
   * the names of its parameters.
   */
  readonly key: string;
  /** The code; it is called if no kernel has been made for the key and the parameters. */
  readonly code: () => KernelCode;
  readonly size: LaunchSize;
  /** Whether the results have elements that the kernel does not write. */
  readonly keepsElements?: boolean;
}

/** The largest number of a kernel's parameters; beyond, operands are made dense. */
export const MAX_PARAMETERS = 64;

/** Elements that a block of the block form takes: half of a first-level cache of float32. */
export const CHUNK = 16384;
const BLOCK = 256;
/** Elements that a CUDA thread takes before the grid is as large as useful. */
const PER_THREAD = 4;
const BLOCKS_PER_MULTIPROCESSOR = 32;

/** The launch for elements that `map()` and its like take. */
export function launchSizeOf(
  { form, context }: DeviceWork,
  elements: number,
  chunk: number,
): LaunchSize {
  if (form === "block") return { grid: Math.ceil(elements / chunk), block: 1 };
  const maxBlocks = context.info.multiprocessorCount * BLOCKS_PER_MULTIPROCESSOR;
  return { grid: Math.min(Math.ceil(elements / (BLOCK * PER_THREAD)), maxBlocks), block: BLOCK };
}

/** The names of {@linkcode numbered}, which every call makes. */
const NAMES: Record<string, string[]> = {};

/** Values by names that consist of a letter and their number. */
export function numbered<Value>(
  letter: string,
  values: readonly Value[],
): Record<string, Value> {
  const names = NAMES[letter] ??= [];
  const record: Record<string, Value> = {};
  for (let index = 0; index < values.length; index++) {
    record[names[index] ??= `${letter}${index}`] = values[index]!;
  }
  return record;
}

/** Parameters of a kernel whose results may not be there yet. */
type KnownParameters = Omit<KernelParameters, "results"> & Partial<KernelParameters>;

/** The number of a kernel's parameters. */
export function countParameters(parameters: KnownParameters): number {
  const { inputs, results = {}, scalars = {}, numbers, error } = parameters;
  let count = error === undefined ? 0 : 2;
  for (const _ in inputs) count++;
  for (const _ in results) count++;
  for (const _ in scalars) count++;
  for (const _ in numbers) count++;
  return count;
}

/**
 * Refuses a kernel with too many parameters, although its operands are dense.
 *
 * @param more The number of results that are not there yet.
 */
export function requireParameters(action: string, parameters: KnownParameters, more = 0): void {
  const count = countParameters(parameters) + more;
  if (count <= MAX_PARAMETERS) return;
  const { inputs, scalars = {} } = parameters;
  throw new RangeError(
    `${cannot(action)} as one kernel must have at most ${MAX_PARAMETERS} parameters: ` +
      `${Object.keys(inputs).length} operands and ${
        Object.keys(scalars).length
      } numbers need ${count}`,
  );
}

/** The kernel of a call as C++. */
function textOf(call: KernelCall): KernelText {
  const { action, inputs, results, scalars = {}, numbers, error } = call;
  const { dtypes = [], ...code } = call.code();
  const declarations: string[] = [];
  const used = new Set(dtypes);
  for (const [name, { dtype }] of Object.entries(inputs)) {
    used.add(dtype);
    declarations.push(`const ${cTypeOf(dtype)}* ${name}`);
  }
  for (const [name, { dtype }] of Object.entries(results)) {
    used.add(dtype);
    declarations.push(`${cTypeOf(dtype)}* ${name}`);
  }
  for (const [name, { dtype }] of Object.entries(scalars)) {
    used.add(dtype);
    declarations.push(`${valueType(dtype)} ${name}`);
  }
  for (const name of Object.keys(numbers)) declarations.push(`long long ${name}`);
  if (error !== undefined) declarations.push("long long* faults", "long long operation");
  return { ...code, name: kernelName(action), dtypes: used, parameters: declarations };
}

/** Runs a kernel on a stream, ordered after the work that wrote its operands. */
export function callKernel(call: KernelCall, stream: Stream): void {
  const { action, inputs, results, scalars, numbers, size, keepsElements, error } = call;
  if (error !== undefined) refuseCapture(action);
  // The values are in the order of the declarations in textOf().
  let { key } = call;
  const values: KernelArgument[] = [];
  const read: TensorStorage[] = [];
  const written: WrittenStorage[] = [];
  for (const name in inputs) {
    const tensor = inputs[name]!;
    const storage = storageOf(tensor);
    key += ` ${tensor.dtype}`;
    values.push(storage.buffer);
    read.push(storage);
  }
  key += ";";
  for (const name in results) {
    const tensor = results[name]!;
    const result = writtenStorage(tensor);
    key += ` ${tensor.dtype}`;
    values.push(result.storage.buffer);
    if (keepsElements) read.push(result.storage);
    written.push(result);
  }
  for (const name in scalars) {
    const { dtype, value } = scalars[name]!;
    key += ` ${dtype}`;
    values.push(value as KernelArgument);
  }
  for (const name in numbers) values.push(numbers[name]!);
  if (error !== undefined) key += "!";
  const { work } = written[0]!.storage;
  const kernel = work.kernel(key, () => textOf(call));
  // Tensors may be disposed before the launch: the operation holds its inputs.
  const launch = () => {
    orderOperands(read, written, stream);
    const { grid, block, sharedMemory = 0 } = size;
    const config = { grid, block, sharedMemory, stream };
    if (error === undefined) return void kernel.kernel!.launch(config, ...values);
    const { report, words } = work.reports.open(error, stream);
    kernel.kernel!.launch(config, ...values, words, 1);
    return report;
  };
  const { log } = work;
  const logged = log?.timed(action, Object.values(results), stream, launch);
  work.enqueue(kernel, read, written, logged ?? launch);
}

/** A dense tensor with undefined content. */
export function newTensor<D extends DType>(
  context: DeviceContext,
  dtype: D,
  shape: Shape,
  stream?: Stream,
): Tensor<D> {
  const storage = TensorStorage.allocate(context, dtype, sizeOf(shape), stream);
  return makeTensor<D>(storage, dtype, { shape, strides: denseStrides(shape), offset: 0 });
}

/** The memory of a tensor whose elements an operation writes. */
export function writtenStorage(tensor: Tensor): WrittenStorage {
  const storage = storageOf(tensor);
  return { storage, isWhole: tensor.size === storage.buffer.length };
}

/** Makes later work of a stream wait for the work on its operands. */
export function orderOperands(
  inputs: readonly TensorStorage[],
  outputs: readonly WrittenStorage[],
  stream: Stream,
): void {
  for (const input of inputs) {
    if (outputs.every(({ storage }) => storage !== input)) input.orderRead(stream);
  }
  for (const { storage } of outputs) storage.orderWrite(stream);
}
