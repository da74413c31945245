/**
 * The arrays of `gridstride run` on the device: from files, and to files.
 *
 * @module
 */

import {
  bytesPerElement,
  type Device,
  type DeviceBuffer,
  type DType,
  type KernelParameter,
} from "../../mod.ts";
import { FileProblem, isAboutFile, reasonOf } from "./file_problem.ts";
import { type NpyArray, npyDescr, readNpy, writeNpy } from "./npy.ts";
import { NpyError } from "./npy_header.ts";
import type { RunArgument, RunValue } from "./run_arguments.ts";

/** Where an array goes when the kernel has run. */
interface Destination {
  readonly path: string;
  /** The element type in NumPy's words. */
  readonly descr: string;
  readonly shape: readonly number[];
}

/** An argument as the kernel takes it. */
export interface BoundArgument {
  /** What `launch` is given. */
  readonly value: unknown;
  /** Elements of the array; 0 of a value. */
  readonly elements: number;
  /** Bytes that the kernel reads of it and writes of it, as far as the command line says. */
  readonly bytes: number;
}

/** The arrays of a run, which are given back with it. */
export class RunArrays implements Disposable {
  readonly #device: Device;
  readonly #buffers: DeviceBuffer<"uint8">[] = [];
  readonly #outputs: { readonly buffer: DeviceBuffer<"uint8">; readonly to: Destination }[] = [];

  /** None yet. */
  constructor(device: Device) {
    this.#device = device;
  }

  /**
   * Makes an argument what the kernel takes.
   *
   * @param parameter What the kernel declares; undefined where it has no such parameter.
   * @throws {FileProblem} If its file cannot be read, or is no array that fits.
   */
  async bind(argument: RunArgument, parameter?: KernelParameter): Promise<BoundArgument> {
    if (argument.kind === "value") {
      return { value: passedValue(argument.value, parameter), elements: 0, bytes: 0 };
    }
    if (argument.kind === "out") {
      const { dtype, shape, output } = argument;
      const elements = shape.reduce((product, extent) => product * extent, 1);
      const bytes = elements * bytesPerElement(dtype);
      const buffer = this.#keep(this.#device.allocate("uint8", bytes, { fill: 0 }));
      this.#outputs.push({ buffer, to: { path: output, descr: npyDescr(dtype), shape } });
      return { value: buffer.as(dtype), elements, bytes };
    }
    const array = await readArray(argument.input);
    const dtype = elementType(array, parameter);
    const buffer = this.#keep(this.#device.upload(array.bytes));
    const elements = array.bytes.length / bytesPerElement(dtype);
    const value = buffer.as(dtype);
    if (argument.kind === "in") return { value, elements, bytes: array.bytes.length };
    const { descr, shape } = array;
    this.#outputs.push({ buffer, to: { path: argument.output, descr, shape } });
    return { value, elements, bytes: 2 * array.bytes.length };
  }

  /** What is to be written, as it is on the device when everything enqueued so far is done. */
  async results(): Promise<{ readonly path: string; readonly file: Uint8Array }[]> {
    return await Promise.all(this.#outputs.map(async ({ buffer, to }) => ({
      path: to.path,
      file: writeNpy(to.descr, to.shape, await buffer.toArray()),
    })));
  }

  /** Gives the memory back. */
  [Symbol.dispose](): void {
    for (const buffer of this.#buffers.splice(0)) buffer.free();
  }

  #keep(buffer: DeviceBuffer<"uint8">): DeviceBuffer<"uint8"> {
    this.#buffers.push(buffer);
    return buffer;
  }
}

/** A value as its parameter takes it: an integer of any size is a number to a floating one. */
function passedValue(value: RunValue, parameter: KernelParameter | undefined): RunValue {
  const isFloat = parameter?.kind === "scalar" && /float/.test(parameter.type);
  return isFloat && typeof value === "bigint" ? Number(value) : value;
}

/** What the elements are to the kernel, where the file leaves that open; else the file's own. */
function elementType(array: NpyArray, parameter: KernelParameter | undefined): DType {
  const wanted = parameter !== undefined && "dtype" in parameter ? parameter.dtype : undefined;
  return array.dtypes.find((dtype) => dtype === wanted) ?? array.dtypes[0]!;
}

async function readArray(path: string): Promise<NpyArray> {
  try {
    const { isBlockDevice, isCharDevice } = await Deno.stat(path);
    // Such as /dev/zero, which never ends. A pipe does.
    if (isBlockDevice === true || isCharDevice === true) {
      throw new FileProblem(`Cannot read ${path} as it must be a file: it is a device`);
    }
    return readNpy(await Deno.readFile(path));
  } catch (error) {
    if (error instanceof NpyError) {
      throw new FileProblem(`Cannot use ${path} as it ${error.message}`);
    }
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(`Cannot read ${path}: ${reasonOf(error)}`);
  }
}

/**
 * Writes a file.
 *
 * @throws {FileProblem} If it cannot be written.
 */
export async function writeResult(path: string, file: Uint8Array): Promise<void> {
  try {
    await Deno.writeFile(path, file);
  } catch (error) {
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(`Cannot write ${path}: ${reasonOf(error)}`);
  }
}
