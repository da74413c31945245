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
} from "../../mod.ts";
import { FileProblem, readFile, UsageError, writeFile } from "./command.ts";
import { NPY_DESCRS, type NpyArray, NpyError, readNpy, writeNpy } from "./npy.ts";

export type RunValue =
  | number
  | bigint
  | boolean
  | readonly (number | bigint)[]
  | Readonly<Record<string, unknown>>;

/** A parsed argument: a value, or an array that is read, written or both. */
export type RunArgument =
  | { readonly kind: "value"; readonly value: RunValue }
  | { readonly kind: "in"; readonly input: string }
  | {
    readonly kind: "out";
    readonly dtype: DType;
    readonly shape: readonly number[];
    readonly output: string;
  }
  | { readonly kind: "inout"; readonly input: string; readonly output: string };

/** NumPy's limit. */
const MAX_DIMENSIONS = 64;

const WORDS: ReadonlyMap<string, number | boolean> = new Map<string, number | boolean>([
  ["true", true],
  ["false", false],
  ["nan", NaN],
  ["inf", Infinity],
  ["+inf", Infinity],
  ["-inf", -Infinity],
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

function parseVector(text: string): RunValue {
  return text.slice(1, -1).split(",").map((part) => {
    const value = parseNumber(part.trim()) ?? WORDS.get(part.trim().toLowerCase());
    if (typeof value === "number" || typeof value === "bigint") return value;
    return refuse(text, "a vector of numbers, such as [1,2,3]");
  });
}

/** A struct in JSON with exact integers; `"nan"` and `"inf"` are numbers. */
function parseStruct(text: string): RunValue {
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

function parseOutput(text: string): RunArgument {
  const allowed = "out:DTYPE[SHAPE]@FILE.npy, such as out:float32[1000]@y.npy";
  const [, dtype = "", extents = "", output] = /^out:([^[\]@]*)\[([^\]]*)\]@(.+)$/s.exec(text) ??
    [];
  if (output === undefined) refuse(text, allowed);
  if (!(DTYPES as readonly string[]).includes(dtype)) {
    refuse(text, `${allowed}, with one of the types ${DTYPES.join(", ")}`);
  }
  const shape = extents.trim() === "" ? [] : extents.split(",").map((extent) => {
    const value = /^\s*\d+\s*$/.test(extent) ? Number(extent) : NaN;
    return Number.isSafeInteger(value) ? value : refuse(text, `${allowed}, with integers as shape`);
  });
  if (shape.length > MAX_DIMENSIONS) {
    refuse(text, `an array of at most ${MAX_DIMENSIONS} dimensions`);
  }
  return { kind: "out", dtype: dtype as DType, shape, output };
}

/** Parses an argument. */
export function parseRunArgument(text: string): RunArgument {
  if (text.startsWith("out:")) return parseOutput(text);
  if (text.startsWith("inout:")) {
    const [, input, output] = /^inout:@([^@]+)@([^@]+)$/.exec(text) ?? [];
    if (input !== undefined && output !== undefined) return { kind: "inout", input, output };
    return refuse(text, "inout:@FILE.npy@FILE.npy with the input file and the output file");
  }
  if (/^@./s.test(text)) return { kind: "in", input: text.slice(1) };
  if (text.startsWith("{")) return { kind: "value", value: parseStruct(text) };
  if (text.startsWith("[") && text.endsWith("]")) {
    return { kind: "value", value: parseVector(text) };
  }
  const value = parseNumber(text) ?? WORDS.get(text.toLowerCase());
  if (value !== undefined) return { kind: "value", value };
  return refuse(
    text,
    'a number, true or false, a vector such as [1,2,3], a struct such as {"x":1}, @FILE.npy, ' +
      "out:DTYPE[SHAPE]@FILE.npy or inout:@FILE.npy@FILE.npy",
  );
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
  readonly #buffers: DeviceBuffer<"uint8">[] = [];
  readonly #outputs: {
    readonly buffer: DeviceBuffer<"uint8">;
    readonly path: string;
    readonly descr: string;
    readonly shape: readonly number[];
  }[] = [];

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
      bound.push(await this.#bindOne(argument, parameters[index]));
    }
    return bound;
  }

  async #bindOne(argument: RunArgument, parameter?: KernelParameter): Promise<BoundArgument> {
    if (argument.kind === "value") {
      const isFloat = parameter?.kind === "scalar" && /float/.test(parameter.type);
      const { value } = argument;
      const passed = isFloat && typeof value === "bigint" ? Number(value) : value;
      return { value: passed, elements: 0, bytes: 0 };
    }
    if (argument.kind === "out") {
      const { dtype, shape, output } = argument;
      const elements = shape.reduce((product, extent) => product * extent, 1);
      const bytes = elements * bytesPerElement(dtype);
      const buffer = this.#keep(this.#device.allocate("uint8", bytes, { fill: 0 }));
      this.#outputs.push({ buffer, path: output, descr: NPY_DESCRS[dtype], shape });
      return { value: buffer.as(dtype), elements, bytes };
    }
    const { dtypes, descr, shape, bytes } = await readArray(argument.input);
    // NumPy has no name for some types: the parameter decides.
    const wanted = parameter !== undefined && "dtype" in parameter ? parameter.dtype : undefined;
    const dtype = dtypes.find((candidate) => candidate === wanted) ?? dtypes[0]!;
    const buffer = this.#keep(this.#device.upload(bytes));
    const isOutput = argument.kind === "inout";
    if (isOutput) this.#outputs.push({ buffer, path: argument.output, descr, shape });
    return {
      value: buffer.as(dtype),
      elements: bytes.length / bytesPerElement(dtype),
      bytes: isOutput ? 2 * bytes.length : bytes.length,
    };
  }

  /** Downloads the outputs when the enqueued work is done; the result writes them to files. */
  async results(): Promise<() => Promise<void>> {
    const files = await Promise.all(this.#outputs.map(async ({ buffer, path, descr, shape }) => ({
      path,
      content: writeNpy(descr, shape, await buffer.toArray()),
    })));
    return async () => {
      for (const { path, content } of files) await writeFile(path, content);
    };
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers.splice(0)) buffer.free();
  }

  #keep(buffer: DeviceBuffer<"uint8">): DeviceBuffer<"uint8"> {
    this.#buffers.push(buffer);
    return buffer;
  }
}

async function readArray(path: string): Promise<NpyArray> {
  const file = await readFile(path);
  try {
    return readNpy(file);
  } catch (error) {
    if (!(error instanceof NpyError)) throw error;
    throw new FileProblem(`Cannot use ${path} as it ${error.message}`);
  }
}
