/**
 * Validation of tensor operations against computations in double precision.
 *
 * @module
 */

import { checkSize, requireInstance, requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { type DType, DTYPES, integerRange, isFloatDType } from "../../memory/dtype.ts";
import * as elementwise from "../../tensor/elementwise.ts";
import { fromTypedArray } from "../../tensor/creation.ts";
import { matmul } from "../../tensor/matmul/matmul.ts";
import * as reductions from "../../tensor/reductions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { Device } from "../device.ts";
import { CREATION_OPERATIONS } from "./creation_operations.ts";
import { MATRIX_OPERATIONS } from "./matrix_operations.ts";
import { PRODUCT_OPERATIONS } from "./product_operations.ts";
import { QUANTIZATION_OPERATIONS } from "./quantization_operations.ts";
import { BINARY, INTEGER, rounded, UNARY, unitsInLastPlace } from "./tensor_references.ts";
import { RandomSource, storeNumbers } from "./validation_case.ts";

/**
 * The result of one tensor operation with one element type.
 * @category Detection and diagnosis
 */
export interface OperationRow {
  /** The operation. */
  readonly operation: string;
  /** The kernel or the option, if the operation has several: `"causal"` of `attention`. */
  readonly variant?: string;
  /** The element type of the operands. */
  readonly dtype: DType;
  /** The largest error, in units of the last place of the result's type; 0 where exact. */
  readonly maxError: number;
  /** The bound of the error. */
  readonly bound: number;
  /** Whether the error is within its bound. */
  readonly passed: boolean;
}

interface OperationCase {
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

const FLOATS = ["float64", "float32", "float16", "bfloat16"] as const;
const NUMBERS = DTYPES.filter((dtype) => dtype !== "bool" && !dtype.startsWith("float8"));
const COUNT = 997;
const [ROWS, COLUMNS] = [13, 67];

type Operation = (...operands: unknown[]) => Tensor;
const operationOf = (name: string) =>
  ({ ...elementwise, ...reductions, matmul } as unknown as Record<string, Operation>)[name]!;

/** Random numbers of an element type, as they are stored. */
function numbers(dtype: DType, count: number, random: RandomSource): number[] {
  const range = integerRange(dtype);
  const low = range === undefined ? -4 : Math.max(-100, Number(range.lowest));
  const high = range === undefined ? 4 : 100;
  return Array.from({ length: count }, () => {
    const value = random.between(low, high);
    return range === undefined ? rounded(dtype, value) : Math.floor(value);
  });
}

function upload(device: Device, dtype: DType, values: readonly number[], shape: readonly number[]) {
  const stored = storeNumbers(dtype as "float32", Float64Array.from(values));
  return fromTypedArray(stored, shape, { device, dtype }) as Tensor;
}

function elementwiseCases(): OperationCase[] {
  const floats = Object.entries({ ...UNARY, ...BINARY }).flatMap(([operation, entry]) => {
    const [reference, bound, isTested = () => true] = entry as (typeof UNARY)[string];
    return FLOATS.map((dtype): OperationCase => ({
      operation,
      dtype,
      bound: bound + 0.5,
      start(device, random) {
        const inputs = (operation in BINARY ? [0, 1] : [0])
          .map(() => numbers(dtype, COUNT, random).map((x) => isTested(x) ? x : 0));
        const result = operationOf(operation)(
          ...inputs.map((it) => upload(device, dtype, it, [COUNT])),
        );
        return { result, expected: inputs[0]!.map((x, at) => reference(x, inputs[1]?.[at] ?? 0)) };
      },
    }));
  });
  const integers = Object.entries(INTEGER).flatMap(([operation, reference]) =>
    NUMBERS.filter((dtype) => !isFloatDType(dtype)).map((dtype): OperationCase => ({
      operation,
      dtype,
      bound: 0,
      start(device, random) {
        const inputs = (reference.length === 2 ? [0, 1] : [0]).map(() => {
          const values = numbers(dtype, COUNT, random);
          return operation === "pow" ? values.map((x) => Math.abs(x % 8)) : values;
        });
        const { lowest, highest } = integerRange(dtype)!;
        const bits = 8 * Math.ceil((highest - lowest).toString(16).length / 2);
        const wrap = lowest < 0n ? BigInt.asIntN : BigInt.asUintN;
        const result = operationOf(operation)(
          ...inputs.map((it) => upload(device, dtype, it, [COUNT])),
        );
        const expected = inputs[0]!.map((x, at) =>
          Number(wrap(bits, reference(BigInt(x), BigInt(inputs[1]?.[at] ?? 0))))
        );
        return { result, expected };
      },
    }))
  );
  return [...floats, ...integers];
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
    countNonzero: [(row) => row.filter((x) => x !== 0).length, 0],
  };

function reductionCases(): OperationCase[] {
  const reduced = Object.entries(REDUCTIONS).flatMap(([operation, [reference, bound]]) =>
    NUMBERS.map((dtype): OperationCase => ({
      operation,
      dtype,
      bound,
      start(device, random) {
        // Positive, because cancellation has no bound in units of the result.
        const values = numbers(dtype, ROWS * COLUMNS, random).map(Math.abs);
        const x = upload(device, dtype, values, [ROWS, COLUMNS]);
        const rows = Array.from(
          { length: ROWS },
          (_, row) => values.slice(row * COLUMNS, (row + 1) * COLUMNS),
        );
        return { result: operationOf(operation)(x, { axis: 1 }), expected: rows.map(reference) };
      },
    }))
  );
  const products = NUMBERS.map((dtype): OperationCase => ({
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
    const [operation, variant] = name.split(" ") as [string, string?];
    return own.dtypes.map((dtype): OperationCase => ({
      operation,
      ...(variant === undefined ? {} : { variant }),
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

const CASES = [...elementwiseCases(), ...reductionCases()];

/**
 * The tensor operations that {@linkcode validateOperations} runs.
 * @category Detection and diagnosis
 */
export const VALIDATED_OPERATIONS: readonly string[] = [
  ...new Set(CASES.map(({ operation }) => operation)),
];

/**
 * Runs tensor operations with every element type that they take and compares the results with a
 * computation in double precision. The kernels are compiled on the first run.
 *
 * @param options The operations, all by default; the seed of the data; a callback before each row.
 * @throws {RangeError} If an operation is unknown.
 * @category Detection and diagnosis
 */
export async function validateOperations(
  device: Device,
  options: {
    /** Operations; all by default. */
    readonly operations?: readonly string[];
    /** Seed of the random data. */
    readonly seed?: number;
    /** Called before each row. */
    readonly onProgress?: (progress: {
      /** Finished rows. */
      readonly done: number;
      /** All rows. */
      readonly total: number;
      /** The operation of the next row. */
      readonly operation: string;
    }) => void;
  } = {},
): Promise<OperationRow[]> {
  const action = "validate operations";
  requireInstance(device, Device, "device", action);
  requireObject(options, "options", action);
  const { operations = VALIDATED_OPERATIONS, seed = 1, onProgress } = options;
  checkSize(seed, "seed", action);
  const unknown = operations.find((it) => !VALIDATED_OPERATIONS.includes(it));
  if (unknown !== undefined) {
    throw new RangeError(
      `Cannot ${action} as operations must be among ${VALIDATED_OPERATIONS.join(", ")}: one is ${
        describeValue(unknown)
      }`,
    );
  }
  const work = CASES.filter(({ operation }) => operations.includes(operation));
  const rows: OperationRow[] = [];
  // Kernels compile in parallel, so some operations are started ahead.
  const ahead = 2 * navigator.hardwareConcurrency;
  const started: ReturnType<OperationCase["start"]>[] = [];
  for (const [done, { bound, isCentred = false, start: _, ...named }] of work.entries()) {
    const { operation } = named;
    onProgress?.({ done, total: work.length, operation });
    while (started.length < Math.min(work.length, done + ahead)) {
      started.push(work[started.length]!.start(device, new RandomSource(seed + started.length)));
    }
    const { expected, ...own } = started[done]!;
    const result = await own.result;
    if (result === undefined) continue;
    const type = isFloatDType(result.dtype) ? result.dtype : "float64";
    const actual = [await result.toNested()].flat(4) as (number | bigint | boolean)[];
    const errors = expected.map((value, at) => {
      const error = unitsInLastPlace(type, Number(actual[at]), value);
      return isCentred && Math.abs(value) < 1 ? error * Math.abs(value) : error;
    });
    if (actual.length !== expected.length) errors.push(Infinity);
    const maxError = errors.reduce((most, error) => Math.max(most, error), 0);
    rows.push({ ...named, maxError, bound, passed: maxError <= bound });
    result.dispose();
  }
  return rows;
}
