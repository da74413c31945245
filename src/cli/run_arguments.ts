/**
 * The arguments of `gridstride run` and `gridstride tune`: values, input files, output files.
 *
 * @module
 */

import {
  bytesPerElement,
  type Device,
  type DeviceBuffer,
  type DType,
  DTYPES,
  type KernelParameter,
  MemoryCorruptionError,
} from "../../mod.ts";
import { NPY_DESCRS, type NpyArray, readNpy, TensorFileError, writeNpy } from "../device/tensor.ts";
import { FileProblem, readFile, UsageError, writeFile } from "./command.ts";
import { bytesOfElements, elementsOf } from "./npy.ts";

/** The elements of an array before the launch: from a file, generated, or listed. */
export type ArrayInput = { readonly path: string } | {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Absent for zeros. */
  readonly elementAt?: (index: number) => number | bigint;
};

/** A parsed argument: a value, or an array that is read, written or both. */
export type RunArgument =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "in"; readonly input: ArrayInput }
  /** Without `output`, the array is printed. */
  | { readonly kind: "out" | "inout"; readonly input: ArrayInput; readonly output?: string };

/** NumPy's limit. */
const MAX_DIMENSIONS = 64;

const WORDS = new Map<string, number | boolean | null>([
  ["true", true],
  ["false", false],
  ["nan", NaN],
  ["inf", Infinity],
  ["+inf", Infinity],
  ["-inf", -Infinity],
  ["null", null],
]);

function refuse(text: string, allowed: string): never {
  throw new UsageError(`Cannot use the argument ${JSON.stringify(text)} as it must be ${allowed}`);
}

function parseNumber(text: string): number | bigint | undefined {
  const [, sign, integer] = /^([+-]?)(\d+|0x[0-9a-f]+)$/i.exec(text) ?? [];
  if (integer === undefined) {
    return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
  }
  const exact = BigInt(integer);
  if (exact <= Number.MAX_SAFE_INTEGER) return sign === "-" ? -Number(exact) : Number(exact);
  return sign === "-" ? -exact : exact;
}

function parseVector(text: string): (number | bigint)[] {
  return text.slice(1, -1).split(",").map((part) => {
    const value = parseNumber(part.trim()) ?? WORDS.get(part.trim().toLowerCase());
    if (typeof value === "number" || typeof value === "bigint") return value;
    return refuse(text, "a vector of numbers, such as [1,2,3]");
  });
}

/** A struct in JSON with exact integers; `"nan"` and `"inf"` are numbers. */
function parseStruct(text: string): unknown {
  const revive = (_key: string, value: unknown, context: { readonly source?: string }) => {
    if (typeof value === "number") return parseNumber(context.source ?? "") ?? value;
    const word = typeof value === "string" ? WORDS.get(value.toLowerCase()) : undefined;
    return typeof word === "number" ? word : value;
  };
  try {
    return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
  } catch (error) {
    // Very deep nesting is a RangeError.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    return refuse(text, 'a struct in JSON, such as {"x":1,"y":[1,2]}');
  }
}

/** `random:7:float32[2,3]`, `out:float32[2,3]`, `float32:[1,2,3]`. */
const ARRAY = /^(?:(out|zeros|arange|random)(?::(\d{1,9}))?:)?(\w*)(:?)\[([^\]]*)\]$/s;

/** The forms of arrays in messages. */
const ARRAYS = "@FILE.npy, zeros:int32[8], arange:int32[8], random:float32[8] or float32:[1,2,3]";
const OUTPUT = "out:DTYPE[SHAPE] or out:DTYPE[SHAPE]@FILE.npy, such as out:float32[1000]@y.npy";

/** Random floats are in [0, 1), integers in 0..99, booleans 0 or 1: by the generator mulberry32. */
function randomElement(dtype: DType, seed: number, index: number): number {
  const state = Math.imul(index + 1, 0x6d2b79f5) + seed | 0;
  let mixed = Math.imul(state ^ state >>> 15, state | 1);
  mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
  const number = ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  return /float/.test(dtype) ? number : Math.floor(number * (dtype === "bool" ? 2 : 100));
}

/** Parses the elements of an array; undefined if the text has none of the forms. */
function parseInput(text: string, whole: string): ArrayInput | undefined {
  if (/^@./s.test(text)) return { path: text.slice(1) };
  const [, kind, seed, type, mark, body] = ARRAY.exec(text) ?? [];
  if (body === undefined || (kind === undefined) === (mark === "")) return undefined;
  if (seed !== undefined && kind !== "random") return undefined;
  const allowed = kind === "out" ? OUTPUT : `an array such as ${ARRAYS}`;
  if (!(DTYPES as readonly string[]).includes(type!)) {
    refuse(whole, `${allowed}, with one of the types ${DTYPES.join(", ")}`);
  }
  const dtype = type as DType;
  if (kind === undefined) {
    const values = parseVector(`[${body}]`);
    const stored = elementsOf(dtype, bytesOfElements(dtype, values));
    const wrong = values.find((value, at) => Number(stored[at]) !== Number(value));
    if (wrong === undefined || /float/.test(dtype)) {
      return { dtype, shape: [values.length], elementAt: (index) => values[index]! };
    }
    return refuse(whole, `a list of elements of type ${dtype}: ${wrong} is none`);
  }
  const shape = body.trim() === "" ? [] : body.split(",").map((extent) => {
    const value = /^\s*\d+\s*$/.test(extent) ? Number(extent) : NaN;
    return Number.isSafeInteger(value)
      ? value
      : refuse(whole, `${allowed}, with integers as shape`);
  });
  if (shape.length > MAX_DIMENSIONS) {
    refuse(whole, `an array of at most ${MAX_DIMENSIONS} dimensions`);
  }
  if (kind === "arange") {
    return { dtype, shape, elementAt: (index) => dtype === "bool" ? Math.min(index, 1) : index };
  }
  if (kind !== "random") return { dtype, shape };
  return { dtype, shape, elementAt: (index) => randomElement(dtype, Number(seed ?? 0), index) };
}

/** Parses the elements of an array. */
export function parseArray(text: string): ArrayInput {
  const input = text.startsWith("out:") ? undefined : parseInput(text, text);
  return input ?? refuse(text, `an array such as ${ARRAYS}`);
}

/** Parses an argument. */
export function parseRunArgument(text: string): RunArgument {
  const [, kind, array = "", output] =
    /^(?:(inout):(?=[^o])|(?=out:))(@[^@]+|[^@]+)(?:@([^@]+))?$/s.exec(text) ?? [];
  const input = array === "" ? undefined : parseInput(array, text);
  if (input !== undefined) {
    const file = output === undefined ? {} : { output };
    return { kind: kind === undefined ? "out" : "inout", input, ...file };
  }
  if (text.startsWith("out:")) return refuse(text, OUTPUT);
  if (text.startsWith("inout:")) refuse(text, `inout:ARRAY or inout:ARRAY@FILE.npy with ${ARRAYS}`);
  if (text.startsWith("{")) return { kind: "value", value: parseStruct(text) };
  if (text.startsWith("[") && text.endsWith("]")) {
    return { kind: "value", value: parseVector(text) };
  }
  const value = parseNumber(text) ?? WORDS.get(text.toLowerCase());
  if (value !== undefined) return { kind: "value", value };
  const only = parseInput(text, text);
  if (only !== undefined) return { kind: "in", input: only };
  return refuse(
    text,
    'a number, true, false or null, a vector such as [1,2,3], a struct such as {"x":1}, an array ' +
      `such as ${ARRAYS}, or an output such as out:DTYPE[SHAPE]@FILE.npy or inout:ARRAY`,
  );
}

/**
 * Reads or generates an array; its content is undefined for zeros.
 *
 * @param wanted The element type to prefer: NumPy has no name for some types.
 */
export async function loadArray(input: ArrayInput, wanted?: DType) {
  if ("path" in input) {
    const { dtypes, descr, shape, bytes: content } = await readArray(input.path);
    const dtype = dtypes.find((candidate) => candidate === wanted) ?? dtypes[0]!;
    return { dtype, descr, shape, bytes: content.length, content };
  }
  const { dtype, shape, elementAt } = input;
  const elements = shape.reduce((product, extent) => product * extent, 1);
  const content = elementAt &&
    bytesOfElements(dtype, Array.from({ length: elements }, (_, index) => elementAt(index)));
  const bytes = elements * bytesPerElement(dtype);
  return { dtype, descr: NPY_DESCRS[dtype], shape, bytes, content };
}

export interface BoundArgument {
  readonly value: unknown;
  /** Elements of the array; 0 for a value. */
  readonly elements: number;
  /** Bytes of the array that the kernel reads and writes. */
  readonly bytes: number;
}

export class RunArrays implements Disposable {
  readonly #device: Device;
  readonly #arrays: {
    readonly name: string;
    readonly buffer: DeviceBuffer<"uint8">;
    readonly elementBytes: number;
  }[] = [];
  readonly #outputs: (Pick<NpyArray, "descr" | "shape"> & {
    readonly dtype: DType;
    readonly buffer: DeviceBuffer<"uint8">;
    readonly name: string;
    readonly path: string | undefined;
  })[] = [];

  constructor(device: Device) {
    this.#device = device;
  }

  /** Converts the arguments to those of a launch. */
  async bind(
    args: readonly RunArgument[],
    parameters: readonly KernelParameter[],
  ): Promise<BoundArgument[]> {
    const bound: BoundArgument[] = [];
    for (const [index, argument] of args.entries()) {
      const name = parameters[index]?.name ?? `argument ${index + 1}`;
      bound.push(await this.#bindOne(argument, name, parameters[index]));
    }
    return bound;
  }

  async #bindOne(
    argument: RunArgument,
    name: string,
    parameter?: KernelParameter,
  ): Promise<BoundArgument> {
    if (argument.kind === "value") {
      const isFloat = parameter?.kind === "scalar" && /float/.test(parameter.type);
      const { value } = argument;
      const passed = isFloat && typeof value === "bigint" ? Number(value) : value;
      return { value: passed, elements: 0, bytes: 0 };
    }
    const wanted = parameter !== undefined && "dtype" in parameter ? parameter.dtype : undefined;
    const { bytes, content, ...array } = await loadArray(argument.input, wanted);
    const buffer = content === undefined
      ? this.#device.allocate("uint8", bytes, { fill: 0 })
      : this.#device.upload(content);
    this.#arrays.push({ name, buffer, elementBytes: bytesPerElement(array.dtype) });
    if (argument.kind !== "in") {
      this.#outputs.push({ ...array, buffer, name, path: argument.output });
    }
    return {
      value: buffer.as(array.dtype),
      elements: bytes / bytesPerElement(array.dtype),
      bytes: argument.kind === "inout" ? 2 * bytes : bytes,
    };
  }

  /** Downloads the outputs when the enqueued work is done; `write()` writes those with a file. */
  async results() {
    const outputs = await Promise.all(
      this.#outputs.map(async ({ buffer, ...rest }) => ({
        ...rest,
        bytes: await buffer.toArray(),
      })),
    );
    const write = async () => {
      for (const { path, descr, shape, bytes } of outputs) {
        if (path !== undefined) await writeFile(path, writeNpy(descr, shape, bytes));
      }
    };
    return { outputs, write };
  }

  /** Requires that a kernel has written no byte next to an array; the pool is in debug mode. */
  requireIntact(kernel: string): void {
    try {
      this.#device.pool.checkMemory();
    } catch (error) {
      if (!(error instanceof MemoryCorruptionError)) throw error;
      const { address, bytes, offset } = error.violations[0]!;
      const array = this.#arrays.find(({ buffer }) => buffer.address === address);
      // The first bytes of an element may equal those of the guard, which leaves them unchanged.
      const size = array?.elementBytes ?? 1;
      const begin = Math.floor(offset! / size) * size;
      // Where a command allocates is of no use to its user.
      error.message =
        `Cannot run ${kernel} as it writes outside of ${array?.name ?? "an array"}: ` +
        `from byte ${begin} on of an array of ${bytes} bytes`;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    for (const { buffer } of this.#arrays.splice(0)) buffer.free();
  }
}

async function readArray(path: string): Promise<NpyArray> {
  const file = await readFile(path);
  try {
    return readNpy(file);
  } catch (error) {
    if (!(error instanceof TensorFileError)) throw error;
    throw new FileProblem(`Cannot use ${path} as it ${error.problem}`);
  }
}
