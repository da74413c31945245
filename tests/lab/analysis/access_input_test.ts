import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import {
  AccessAnalyzer,
  type AccessIndices,
  type AccessOptions,
  analyzeAccess,
  bankConflicts,
  optimizeLayout,
  zOrderLayout,
} from "../../../src/lab/analysis/mod.ts";
import { KINDS } from "./typed_array_kinds.ts";

const VALUES = Array.from({ length: 100 }, (_, i) => i % 40 + 3 * Math.floor(i / 40));

Deno.test("`analyzeAccess()` takes every kind of array and iterable", async () => {
  const expected = analyzeAccess(VALUES);
  const arrays = KINDS.filter((Kind) => Kind !== BigInt64Array && Kind !== BigUint64Array)
    .map((Kind) => (Kind as typeof Int8Array).from(VALUES));
  const bigints = VALUES.map(BigInt);
  const iterables = [
    ...arrays,
    BigInt64Array.from(bigints),
    BigUint64Array.from(bigints),
    bigints,
    VALUES.values(),
    (function* () {
      yield Int16Array.from(VALUES.slice(0, 33));
      for (const value of VALUES.slice(33)) yield value;
    })(),
  ];
  for (const indices of iterables) assertEquals(analyzeAccess(indices), expected);
  async function* stream() {
    yield Uint8Array.from(VALUES.slice(0, 50));
    for (const value of VALUES.slice(50)) yield await Promise.resolve(value);
  }
  assertEquals(await analyzeAccess(stream()), expected);
});

Deno.test("`analyzeAccess()` takes views into buffers, shared and resizable ones", () => {
  const expected = analyzeAccess(VALUES);
  const resizable = new ArrayBuffer(1000, { maxByteLength: 2000 });
  for (const buffer of [new ArrayBuffer(1000), new SharedArrayBuffer(1000), resizable]) {
    const view = new Int32Array(buffer, 40, 100);
    view.set(VALUES);
    assertEquals(analyzeAccess(view), expected);
  }
  const wide = new BigUint64Array(new ArrayBuffer(1000), 8, 100);
  wide.set(VALUES.map(BigInt));
  assertEquals(analyzeAccess(wide), expected);
});

Deno.test("`analyzeAccess()` throws with the position when a value is not an index", () => {
  const bad: readonly [Iterable<number | bigint>, string][] = [
    [[0, 1, -1], "position 2 must be an integer in 0..9007199254740991: it is -1"],
    [[0.5], "position 0 must be an integer in 0..9007199254740991: it is 0.5"],
    [[0, NaN], "position 1 must be an integer in 0..9007199254740991: it is NaN"],
    [[1n, -1n], "position 1 must be an integer in 0..9007199254740991: it is -1n"],
    [[2n ** 70_000n], "it is a bigint of more than 256 bits"],
    [Int8Array.of(5, -3), "position 1 must be an integer in 0..9007199254740991: it is -3"],
    [Float32Array.of(1, 2, 2.5), "position 2 must be an integer in 0..9007199254740991: it is 2.5"],
    [Float64Array.of(2 ** 40, 2 ** 60), "position 1"],
    [BigInt64Array.of(0n, -1n), "position 1 must be an integer in 0..9007199254740991: it is -1n"],
    [BigUint64Array.of(2n ** 53n), "it is 9007199254740992n"],
  ];
  for (const [indices, message] of bad) {
    assertThrows(() => analyzeAccess(indices), RangeError, message);
  }
  assertEquals(analyzeAccess([-0]).count, 1);
});

Deno.test("`AccessAnalyzer.add()` counts positions from the first index of all", () => {
  const analyzer = new AccessAnalyzer();
  analyzer.add(new Uint32Array(10_000));
  assertThrows(() => analyzer.add([1, 2, -5]), RangeError, "position 10002");
  assertThrows(() => analyzer.add(Int16Array.of(7, -1)), RangeError, "position 10003");
  // Indices before a bad one have been added, and more may follow.
  analyzer.add([9]);
  assertEquals(analyzer.report().count, 10_004);
});

Deno.test("`analyzeAccess()` throws when given no indices", async () => {
  const nothings: unknown[] = ["012", 5, null, undefined, {}, () => 1, new ArrayBuffer(8), 1n];
  for (const indices of [...nothings, new DataView(new ArrayBuffer(8)), Symbol.iterator]) {
    assertThrows(() => analyzeAccess(indices as number[]), TypeError, "indices must be");
  }
  for (const item of ["1", null, undefined, {}, [1], new Map(), Symbol("index")]) {
    const message = "the index at position 1 must be a number or a bigint: it is ";
    assertThrows(() => analyzeAccess([0, item] as number[]), TypeError, message);
  }
  async function* strings() {
    yield await Promise.resolve("7");
  }
  await assertRejects(
    () => analyzeAccess(strings() as unknown as AsyncIterable<number>),
    TypeError,
    "position 0",
  );
  const transferred = new Uint32Array(8);
  structuredClone(transferred, { transfer: [transferred.buffer] });
  assertThrows(() => analyzeAccess(transferred), TypeError, "transferred");
});

Deno.test("`analyzeAccess()` throws when an option is not allowed", () => {
  const bad: readonly [Record<string, unknown>, ErrorConstructor, string][] = [
    [{ elementBytes: 0 }, RangeError, "must be one of 1, 2, 4, 8, 12, 16: it is 0"],
    [{ elementBytes: "4" }, TypeError, "elementBytes must be a number"],
    [{ offset: -1 }, RangeError, "offset must be an integer in 0..9007199254740991: it is -1"],
    [{ offset: 4n }, TypeError, "offset must be a number: it is 4n"],
    [{ reuse: 0 }, RangeError, "reuse must be an integer in 1..4194304: it is 0"],
    [{ reuse: "yes" }, TypeError, "reuse must be a boolean or a number"],
  ];
  for (const [options, kind, message] of bad) {
    assertThrows(() => analyzeAccess([1], options as AccessOptions), kind, message);
  }
  assertThrows(() => analyzeAccess([1], null as unknown as AccessOptions), TypeError, "options");
});

Deno.test("`analyzeAccess()` reports zero counts when there are no accesses", () => {
  for (const indices of [[], new Uint32Array(0), new Set<number>()]) {
    const { kind, count, requests, sectors, efficiency, advice, reuse } = analyzeAccess(indices, {
      reuse: true,
    });
    assertEquals([kind, count, requests, sectors, efficiency, advice], ["empty", 0, 0, 0, 1, ""]);
    assertEquals([reuse!.counts, reuse!.firstTouches], [[], 0]);
  }
});

Deno.test("functions name their action when an index is not allowed", () => {
  const transferred = new Uint32Array(8);
  transferred.buffer.transfer();
  const cases: readonly (readonly [string, (indices: AccessIndices) => unknown])[] = [
    ["analyse accesses", analyzeAccess],
    ["count bank conflicts", bankConflicts],
    ["optimise the layout", (indices) => optimizeLayout(new Uint8Array(9), indices)],
    ["rewrite accesses", (indices) => zOrderLayout({ rows: 3, columns: 3 }).rewrite(indices)],
  ];
  for (const [action, take] of cases) {
    const position = `Cannot ${action} as the index at position 1 must be`;
    assertThrows(() => take([0, -1]), RangeError, position);
    assertThrows(() => take(Int8Array.of(0, -1)), RangeError, position);
    assertThrows(() => take(["0"] as never), TypeError, `Cannot ${action} as the index at`);
    assertThrows(() => take(5 as never), TypeError, `Cannot ${action} as indices must be`);
    assertThrows(() => take(transferred), TypeError, `Cannot ${action} as the memory of indices`);
  }
});

Deno.test("`report()` returns the same report when called again", () => {
  const analyzer = new AccessAnalyzer();
  analyzer.add([1, 2]);
  const report = analyzer.report();
  assertThrows(() => analyzer.add([3]), TypeError, "the report has been made");
  assertStrictEquals(analyzer.report(), report);
});
