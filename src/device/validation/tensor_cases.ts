/**
 * Validation of tensor operations against computations in double precision.
 *
 * @module
 */

import {
  CompileError,
  CompilerUnavailableError,
  diagnosticText,
} from "../../launch/compile/compile_error.ts";
import { type DType, DTYPES, integerRange, isFloatDType } from "../../memory/dtype.ts";
import * as elementwise from "../../tensor/elementwise.ts";
import { fromTypedArray, full } from "../../tensor/creation.ts";
import { DeviceWork } from "../../tensor/kit/device_work.ts";
import { domainProblem, OPERATIONS } from "../../tensor/kit/expression/operations.ts";
import { fuse } from "../../tensor/fusion.ts";
import { matmul } from "../../tensor/matmul/matmul.ts";
import * as reductions from "../../tensor/reductions.ts";
import { collectTensors } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Device } from "../device.ts";
import { CREATION_OPERATIONS } from "./creation_operations.ts";
import { MATRIX_OPERATIONS, ORDERED } from "./matrix_operations.ts";
import { PRODUCT_OPERATIONS } from "./product_operations.ts";
import { QUANTIZATION_OPERATIONS } from "./quantization_operations.ts";
import {
  BINARY,
  FURTHER,
  INTEGER,
  type NumericReference,
  roundedNumbers,
  SHIFTS,
  UNARY,
  unitsInLastPlace,
} from "./tensor_references.ts";
import { RandomSource, storeNumbers } from "./validation_case.ts";
import type { ValidationRow } from "./validation_row.ts";

/** One tensor operation with one element type. */
export interface TensorCase {
  readonly operation: string;
  readonly variant?: string;
  readonly dtype: DType;
  readonly bound: number;
  /** Whether errors of results below 1 are measured in units of the last place of 1. */
  readonly isCentred?: boolean;
  /** Starts the operation; the result compares it. */
  start(
    device: Device,
    random: RandomSource,
  ): { result: Tensor | Promise<Tensor> | undefined; expected: readonly number[] };
}

const COUNT = 997;
const [ROWS, COLUMNS] = [13, 67];
/** Elements of a row that are multiplied: the products are exact integers. */
const FACTORS = 7;

type Operation = (...operands: unknown[]) => Tensor;
const operationOf = (name: string) =>
  ({ ...elementwise, ...reductions, matmul } as unknown as Record<string, Operation>)[name]!;

/** Random numbers of an element type, as they are stored. */
function numbers(dtype: DType, count: number, random: RandomSource): number[] {
  const range = integerRange(dtype);
  const low = range === undefined ? -4 : Math.max(-100, Number(range.lowest));
  const high = range === undefined ? 4 : 100;
  if (dtype === "bool") return Array.from({ length: count }, () => random.uint32() % 2);
  const values = Array.from({ length: count }, () => random.between(low, high));
  return range === undefined ? roundedNumbers(dtype, values) : values.map(Math.floor);
}

function upload(device: Device, dtype: DType, values: readonly number[], shape: readonly number[]) {
  const stored = storeNumbers(dtype as "float32", Float64Array.from(values));
  return fromTypedArray(stored, shape, { device, dtype }) as Tensor;
}

/** The reference of an operation with an element type, its bound, and where it holds. */
function referenceOf(operation: string, dtype: DType): NumericReference | undefined {
  const exact = isFloatDType(dtype) ? undefined : { ...INTEGER, ...SHIFTS }[operation];
  if (exact === undefined) return { ...UNARY, ...BINARY, ...FURTHER }[operation];
  const { lowest, highest } = integerRange(dtype) ?? { lowest: 0n, highest: 1n };
  const bits = (highest - lowest).toString(2).length;
  const wrap = lowest < 0n ? BigInt.asIntN : BigInt.asUintN;
  const unary = (x: number, y = 0) => Number(wrap(bits, exact(BigInt(x), BigInt(y))));
  return [exact.length < 2 ? unary : (x, y) => unary(x, y), 0];
}

const isBinary = (operation: string, dtype: DType) => referenceOf(operation, dtype)![0].length > 1;

/** Operations of a shared kernel. NVRTC takes seconds for 40 functions of float64 in one. */
const MAX_SHARED = 8;

/** One kernel for several operations with an element type, which computes the one of a place. */
function sharedKernel(dtype: DType): { readonly names: string[]; readonly run: Operation } {
  const names: string[] = [];
  const run = fuse((place: Tensor, x: Tensor, y: Tensor) =>
    names.map((name) => operationOf(name)(x, ...isBinary(name, dtype) ? [y] : []))
      .reduce((rest, own, at) => elementwise.where(place.equal(at), own, rest) as Tensor)
  );
  return { names, run: run as Operation };
}

function elementwiseCases(): TensorCase[] {
  const shared = new Map<string, ReturnType<typeof sharedKernel>>();
  return Object.entries(OPERATIONS).flatMap(([operation, { domain, result: rule }]) => {
    const dtypes = DTYPES.filter((dtype) =>
      domainProblem(domain, dtype) === undefined && referenceOf(operation, dtype) !== undefined
    );
    return dtypes.map((dtype): TensorCase => {
      const [reference, bound, isTested = () => true] = referenceOf(operation, dtype)!;
      const isFloat = isFloatDType(dtype);
      const operands = isBinary(operation, dtype) ? [0, 1] : [0];
      const isExact = !isFloat && (operation in INTEGER || operation in SHIFTS);
      // The quotients of integers have a type of their own.
      const hasOwnKernel = isFloat || (isExact && dtype !== "bool") || operation === "divide";
      const key = `${dtype} ${rule}${rule === "float" ? operands : ""}`;
      const known = shared.get(key);
      const isFull = known === undefined || known.names.length === MAX_SHARED;
      const group = isFull ? sharedKernel(dtype) : known;
      const place = hasOwnKernel ? 0 : group.names.push(operation) - 1;
      shared.set(key, group);
      return {
        operation,
        dtype,
        bound: isExact ? 0 : bound + 0.5,
        start(device, random) {
          const isCount = /^pow$|Shift$/.test(operation) && !isFloat;
          const inputs = operands.map((operand) =>
            numbers(dtype, COUNT, random)
              .map((x) => isCount && operand === 1 ? Math.abs(x % 8) : isTested(x) ? x : 0)
          );
          const own = inputs.map((it) => upload(device, dtype, it, [COUNT]));
          const result = hasOwnKernel
            ? operationOf(operation)(...own)
            : group.run(full([1], place, { device, dtype: "int32" }), own[0], own.at(-1));
          const [first, second] = inputs;
          const expected = first!.map((x, at) => reference(x, second?.[at] ?? 0, result.dtype));
          return { result, expected };
        },
      };
    });
  });
}

const total = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0);
const spread = (values: readonly number[]) => {
  const mean = total(values) / values.length;
  return total(values.map((x) => (x - mean) ** 2)) / values.length;
};

/** Reductions of rows, with the bound of their error. */
const REDUCTIONS: Readonly<Record<string, readonly [(row: readonly number[]) => number, number]>> =
  {
    sum: [total, 64],
    mean: [(row) => total(row) / row.length, 64],
    max: [(row) => Math.max(...row), 0],
    min: [(row) => Math.min(...row), 0],
    argmax: [(row) => row.indexOf(Math.max(...row)), 0],
    argmin: [(row) => row.indexOf(Math.min(...row)), 0],
    variance: [spread, 64],
    std: [(row) => Math.sqrt(spread(row)), 64],
    any: [(row) => Number(row.some((x) => x !== 0)), 0],
    all: [(row) => Number(row.every((x) => x !== 0)), 0],
    prod: [(row) => row.reduce((product, x) => product * x, 1), 64],
    countNonzero: [(row) => row.filter((x) => x !== 0).length, 0],
  };

function reductionCases(): TensorCase[] {
  const reduced = Object.entries(REDUCTIONS).flatMap(([operation, [reference, bound]]) =>
    ORDERED.map((dtype): TensorCase => ({
      operation,
      dtype,
      bound,
      start(device, random) {
        // Positive, because cancellation has no bound in units of the result.
        const isFactor = (at: number) => operation !== "prod" || at % COLUMNS < FACTORS;
        const values = numbers(dtype, ROWS * COLUMNS, random)
          .map((x, at) => isFactor(at) ? Math.abs(x) : 1);
        const x = upload(device, dtype, values, [ROWS, COLUMNS]);
        const rows = Array.from(
          { length: ROWS },
          (_, row) => values.slice(row * COLUMNS, (row + 1) * COLUMNS),
        );
        return { result: operationOf(operation)(x, { axis: 1 }), expected: rows.map(reference) };
      },
    }))
  );
  const products = DTYPES.filter((dtype) => dtype !== "bool").map((dtype): TensorCase => ({
    operation: "matmul",
    dtype,
    bound: isFloatDType(dtype) ? 64 : 0,
    start(device, random) {
      const values = numbers(dtype, ROWS * COLUMNS, random).map((x) => Math.abs(x) % 2);
      const x = upload(device, dtype, values, [ROWS, COLUMNS]);
      const at = (row: number, k: number) => values[row * COLUMNS + k]!;
      const expected = Array.from({ length: ROWS * ROWS }, (_, index) => {
        const [row, column] = [Math.floor(index / ROWS), index % ROWS];
        return total(Array.from({ length: COLUMNS }, (_, k) => at(row, k) * at(column, k)));
      });
      return { result: matmul(x, x.transpose()) as Tensor, expected };
    },
  }));
  const all = Object.entries({
    ...CREATION_OPERATIONS,
    ...MATRIX_OPERATIONS,
    ...PRODUCT_OPERATIONS,
    ...QUANTIZATION_OPERATIONS,
  });
  const matrices = all.flatMap(([name, own]) => {
    const [operation, ...words] = name.split(" ") as [string, ...string[]];
    const variant = words.join(" ");
    return own.dtypes.map((dtype): TensorCase => ({
      operation,
      ...(variant === "" ? {} : { variant }),
      dtype,
      bound: own.bound,
      isCentred: own.isCentred === true,
      start(device, random) {
        const values = numbers(dtype, ROWS * COLUMNS, random).map((x) => Math.abs(x) % 4);
        const x = upload(device, dtype, values, [ROWS, COLUMNS]);
        const rows = Array.from(
          { length: ROWS },
          (_, row) => values.slice(row * COLUMNS, (row + 1) * COLUMNS),
        );
        const result = own.run(x, device);
        // It is awaited after earlier results.
        if (result instanceof Promise) result.catch(() => {});
        return { result, expected: own.reference(rows, dtype).flat() };
      },
    }));
  });
  return [...reduced, ...products, ...matrices];
}

/** Cases that are started at a time, so that their kernels are compiled together. */
const TOGETHER = 128;
/** Cases that are started before their turn: their kernels keep 16 processors busy. */
const AHEAD = 3 * TOGETHER;
/** Operations that may wait when more are started; the queue is limited. */
const MAX_WAITING = 300;

/** All cases. */
export const TENSOR_CASES: readonly TensorCase[] = [...elementwiseCases(), ...reductionCases()];

/**
 * Runs cases and compares their results; `onStart` is called before each comparison, with its
 * operation. A kernel that does not compile, also for want of a compiler, fails its row, and the others are run.
 */
export async function runTensorCases(
  device: Device,
  work: readonly TensorCase[],
  seed: number,
  onStart?: (operation: string) => void,
): Promise<ValidationRow[]> {
  const rows: ValidationRow[] = [];
  const operations = DeviceWork.of(device.context);
  const started: StartedCase[] = [];
  // An error may leave cases that have not had their turn.
  using _rest = { [Symbol.dispose]: () => started.forEach(({ made }) => made.dispose()) };
  const { label, info: { fake } } = device;
  for (const [done, { operation, variant, dtype, bound, isCentred = false }] of work.entries()) {
    onStart?.(operation);
    const named = { operation, ...(variant === undefined ? {} : { variant }), device: label };
    const judged = (maxError: number) =>
      ({ ...named, fake, dtype, maxError, bound, unit: "ulp", passed: maxError <= bound }) as const;
    // While some are compared, the kernels of the next are compiled.
    const mayStart = () =>
      started.length === done ||
      (started.length < done + AHEAD && operations.order.size < MAX_WAITING);
    while (started.length < work.length && mayStart()) {
      operations.compileTogether(() => {
        for (const { start } of work.slice(started.length, started.length + TOGETHER)) {
          const random = new RandomSource(seed + started.length);
          started.push(startCase(() => start(device, random)));
        }
      });
    }
    const { made, outcome } = started[done]!;
    using _made = made;
    try {
      const { expected, ...own } = outcome();
      using result = await own.result;
      if (result === undefined) continue;
      rows.push(judged(await largestError(result, expected, isCentred)));
    } catch (error) {
      const isOfCompiler = error instanceof CompileError ||
        error instanceof CompilerUnavailableError;
      if (!isOfCompiler) throw error;
      const first = error instanceof CompileError ? error.diagnostics[0] : undefined;
      const compileError = first === undefined ? error.message : diagnosticText(first);
      rows.push({ ...judged(Infinity), compileError });
    }
  }
  return rows;
}

/** A case whose operation has been started, with the tensors that this made. */
interface StartedCase {
  readonly made: DisposableStack;
  /** Returns the started operation, or throws the error of its start. */
  readonly outcome: () => ReturnType<TensorCase["start"]>;
}

function startCase(start: () => ReturnType<TensorCase["start"]>): StartedCase {
  const made = new DisposableStack();
  try {
    const started = collectTensors(made, start);
    const { result } = started;
    if (result instanceof Promise) {
      made.defer(() => void result.then((tensor) => tensor?.[Symbol.dispose](), () => {}));
    }
    return { made, outcome: () => started };
  } catch (error) {
    return {
      made,
      outcome() {
        throw error;
      },
    };
  }
}

async function largestError(
  result: Tensor,
  expected: readonly number[],
  isCentred: boolean,
): Promise<number> {
  const type = isFloatDType(result.dtype) ? result.dtype : "float64";
  const actual = [await result.toNested()].flat(4) as (number | bigint | boolean)[];
  const errors = expected.map((value, at) => {
    const error = unitsInLastPlace(type, Number(actual[at]), value);
    return isCentred && Math.abs(value) < 1 ? error * Math.abs(value) : error;
  });
  if (actual.length !== expected.length) errors.push(Infinity);
  return errors.reduce((most, error) => Math.max(most, error), 0);
}
