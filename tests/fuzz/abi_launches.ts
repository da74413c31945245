/**
 * Random launches through the C ABI: any kernel, any argument, but never work that takes long nor,
 * as kernels of the host device run in this process, a write that could hit the process's memory.
 *
 * @module
 */

import fc from "fast-check";
import { address, handle, roomyAddress } from "./abi_values.ts";
import { anyNumber } from "./values.ts";

/** Kernels that make their device unusable, and what only tests of faults need. */
const FAULT = /^fault_/;

/** Kernels with a duration as argument: they get their own arguments only. */
const TIMED = /^spin/;

/** What a launch writes into the command block after device and stream. */
export interface LaunchOperands {
  /**
   * Operands 0 to 12: kernel, grid, block, shared memory, argument count, raw words, flags, cluster.
   */
  readonly operands: readonly unknown[];
  /** The arguments. */
  readonly argumentSlots: readonly unknown[];
}

const small = fc.nat(64);

/**
 * Numbers for a 64-bit integer that counts elements. A kernel with too large a count runs off the
 * end of its memory, and faults there: the gap behind it is wider than all threads of a launch.
 */
const elements = fc.oneof(
  { weight: 120, arbitrary: fc.nat(200) },
  { weight: 1, arbitrary: fc.constantFrom(10_000, 2 ** 53 - 1) },
  { weight: 10, arbitrary: fc.constantFrom(-1, 0.5, NaN, 2 ** 53, Infinity) },
);

/** Memory for a pointer: seldom such that the kernel faults. */
const memory = fc.oneof({ weight: 60, arbitrary: roomyAddress }, { weight: 1, arbitrary: address });

/** Where `x[index]` lies: in `x`, in the gap behind it, or where no address is. */
const farIndices = fc.constantFrom(0, 1, 20_000, 2 ** 45, 2 ** 53 - 1);

/** An argument of a type that mostly fits; its slot may also hold raw bytes. */
function argument(kernel: string, type: string): fc.Arbitrary<unknown> {
  if (type.endsWith("*")) return memory;
  if (TIMED.test(kernel)) return fc.nat(50_000);
  if (kernel === "fault_out_of_bounds") return farIndices;
  switch (type) {
    case "unsigned long long":
      return elements;
    case "double":
    case "float":
      return anyNumber;
    case "int":
      return fc.oneof(fc.constantFrom(0, 1, -1, 1_000_000), anyNumber);
    default:
      return fc.oneof({ weight: 4, arbitrary: small }, fc.constantFrom(-1, 0.5, NaN, 65536));
  }
}

/** Extents with a small product, or with one that exceeds its limit. */
function extents(refused: readonly number[][]): fc.Arbitrary<readonly number[]> {
  const never = [[0, 1, 1], [1, -1, 1], [0.5, 1, 1], [1, 1, NaN], [2 ** 32, 1, 1]];
  return fc.oneof(
    {
      weight: 10,
      arbitrary: fc.constantFrom([1, 1, 1], [2, 1, 1], [32, 1, 1], [4, 2, 2], [1, 1, 3]),
    },
    { weight: 1, arbitrary: fc.constantFrom(...never, ...refused) },
  );
}

const gridExtents = extents([[2 ** 31, 1, 1], [1, 65536, 1], [1, 1, 65536]]);
const blockExtents = extents([[1025, 1, 1], [1, 1025, 1], [1, 1, 65], [32, 32, 2]]);

/** Dynamic shared memory: mostly as much as the kernel needs. */
function sharedBytes(kernel: string): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 30, arbitrary: fc.constant(kernel.includes("shared") ? 4096 : 0) },
    fc.constantFrom(0, 256, 49152, 49153, 2 ** 31, 2 ** 32, -1, 0.5, NaN),
  );
}

/** Words that say which arguments are raw bytes: mostly none. */
const rawWord = fc.oneof(
  { weight: 60, arbitrary: fc.constant(0) },
  fc.constantFrom(1, 2, 6, 2 ** 32 - 1, 2 ** 32, -1, 0.5),
);

/** Flags and a cluster: mostly none. */
const together = fc.oneof(
  { weight: 60, arbitrary: fc.constant([0, 0]) },
  { weight: 2, arbitrary: fc.constant([1, 0]) },
  fc.constantFrom([2, 0], [-1, 0], [0.5, 0], [0, 1], [0, 65793], [0, 2 ** 24], [0, NaN], [
    1,
    65793,
  ]),
);

function launchOf(
  id: fc.Arbitrary<unknown>,
  declaration: string,
  otherId: fc.Arbitrary<number>,
): fc.Arbitrary<LaunchOperands> {
  const [kernel, list] = declaration.slice(0, -1).split("(") as [string, string];
  // The bytes of a small double are an integer so large that the wait would never end.
  const isTimed = TIMED.test(kernel);
  const types = list === "" ? [] : list.split(",");
  return fc.record({
    kernel: fc.oneof({ weight: 20, arbitrary: id }, { weight: 1, arbitrary: otherId }),
    grid: gridExtents,
    block: blockExtents,
    shared: sharedBytes(kernel),
    count: fc.oneof({ weight: 20, arbitrary: fc.constant(types.length) }, anyNumber),
    raw: isTimed ? fc.constant([0, 0]) : fc.tuple(rawWord, rawWord),
    together,
    argumentSlots: fc.tuple(...types.map((type) => argument(kernel, type.trim()))),
  }).map(({ kernel, grid, block, shared, count, raw, together, argumentSlots }) => ({
    operands: [kernel, ...grid, ...block, shared, count, ...raw, ...together],
    argumentSlots,
  }));
}

/**
 * Launches of the kernels with these declarations; their ids are 1 to their number. One in a
 * hundred is of a kernel that faults.
 */
export function launches(declarations: readonly string[]): fc.Arbitrary<LaunchOperands> {
  const all = declarations.map((declaration, index) => ({ id: index + 1, declaration }));
  const faults = all.filter(({ declaration }) => FAULT.test(declaration));
  const others = all.filter(({ declaration }) => !FAULT.test(declaration));
  const timed = all.filter(({ declaration }) => TIMED.test(declaration)).map(({ id }) => id);
  const otherId = anyNumber.filter((number) => !timed.includes(number));
  const from = (kernels: typeof all) =>
    fc.constantFrom(...kernels).chain(({ id, declaration }) =>
      launchOf(fc.constant(id), declaration, otherId)
    );
  return fc.oneof(
    { weight: 89, arbitrary: from(others) },
    { weight: 10, arbitrary: launchOf(handle("kernel"), "store_int(int,int*)", otherId) },
    ...faults.length === 0 ? [] : [{ weight: 1, arbitrary: from(faults) }],
  );
}
