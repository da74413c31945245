// Broken pickles: cut off at every byte, changed at random, and made of nothing but random opcodes.
// Each is read or refused with a clear error, quickly, and changes nothing outside.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { PICKLE_LIMITS, readPickle } from "../../../../src/lab/memory/snapshot/pickle.ts";
import { PickleError } from "../../../../src/lab/memory/snapshot/pickle_error.ts";
import {
  PLAIN_OPCODES,
  REFUSED_OPCODES,
} from "../../../../src/lab/memory/snapshot/pickle_opcodes.ts";
import type { PickleValue } from "../../../../src/lab/memory/snapshot/pickle_value.ts";
import { convertPytorchSnapshot } from "../../../../src/lab/memory/snapshot/pytorch_snapshot.ts";
import { SnapshotError } from "../../../../src/lab/memory/snapshot/snapshot_error.ts";
import { SeededRandom } from "../../../../src/lab/memory/trace/seeded_random.ts";

const PROTOCOLS = [0, 1, 2, 3, 4, 5];
const FIXTURES = PROTOCOLS.map((protocol) =>
  Deno.readFileSync(
    new URL(`./fixtures/pytorch_protocol_${protocol}.pickle`, import.meta.url),
  )
);

/** How deep a value is nested; fails where it contains itself. */
function depthOf(value: PickleValue, known: Map<PickleValue, number>): number {
  if (!Array.isArray(value) && !(value instanceof Map)) return 0;
  const before = known.get(value);
  assert(before !== Infinity, "the value contains itself");
  if (before !== undefined) return before;
  known.set(value, Infinity);
  const depths = [...value.values()].map((element) => depthOf(element, known));
  const depth = 1 + depths.reduce((most, each) => Math.max(most, each), 0);
  known.set(value, depth);
  return depth;
}

/** Reads bytes, and what they hold as a snapshot; an error that says nothing fails the test. */
function tryToRead(bytes: Uint8Array): "read" | "no snapshot" | "no pickle" {
  let value: PickleValue;
  try {
    value = readPickle(bytes);
  } catch (error) {
    assert(error instanceof PickleError, String(error));
    assert(error.offset >= 0 && error.offset <= bytes.length, error.message);
    assert(error.message.startsWith("Cannot read the pickle as "), error.message);
    return "no pickle";
  }
  assert(depthOf(value, new Map()) <= PICKLE_LIMITS.maximumDepth);
  try {
    convertPytorchSnapshot(value);
    return "read";
  } catch (error) {
    assert(error instanceof SnapshotError, String(error));
    assert(error.message.startsWith("Cannot read the snapshot as "), error.message);
    return "no snapshot";
  }
}

Deno.test("a pickle cut off at any byte is refused", () => {
  for (const bytes of FIXTURES) {
    for (let length = 0; length < bytes.length; length++) {
      assertThrows(() => readPickle(bytes.subarray(0, length)), PickleError, "Cannot read");
    }
    assertEquals(tryToRead(bytes), "read");
  }
});

Deno.test("a pickle with bytes changed, added or left out is read or clearly refused", () => {
  const random = new SeededRandom(6);
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  const outcomes = new Map<string, number>();
  for (let round = 0; round < 2500; round++) {
    const bytes = [...random.choose(FIXTURES)];
    for (let change = random.integer(1, 4); change > 0; change--) {
      const at = random.integer(0, bytes.length - 1);
      const count = random.integer(0, 2);
      const added = Array.from({ length: random.integer(0, 2) }, () => random.integer(0, 255));
      bytes.splice(at, count, ...added);
    }
    const outcome = tryToRead(Uint8Array.from(bytes));
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  assertEquals(Object.getOwnPropertyNames(Object.prototype).join(), before);
  // All three come up, so that the changes reach every stage.
  assertEquals([...outcomes.keys()].sort(), ["no pickle", "no snapshot", "read"]);
});

Deno.test("a pickle of random opcodes is read or clearly refused", () => {
  const random = new SeededRandom(7);
  const plain = Object.values(PLAIN_OPCODES).filter((code) => code !== PLAIN_OPCODES.STOP);
  const refused = Object.values(REFUSED_OPCODES);
  let read = 0;
  for (let round = 0; round < 10_000; round++) {
    const bytes: number[] = [];
    for (let count = random.integer(1, 40); count > 0; count--) {
      bytes.push(random.choose(random.integer(0, 60) === 0 ? refused : plain));
      // Arguments for those that take some; small, so that lengths and memos often fit.
      if (random.integer(0, 2) === 0) bytes.push(random.integer(0, 3));
    }
    bytes.push(PLAIN_OPCODES.STOP);
    if (tryToRead(Uint8Array.from(bytes)) !== "no pickle") read++;
  }
  assert(read > 5, `${read} were read`);
});

Deno.test("a small pickle that names far more than it holds is refused or read quickly", () => {
  const start = performance.now();
  // Thirty lists, each of which holds the one before it twice: 2^30 paths, 30 lists.
  const doubled = `]q\x00${
    Array.from({ length: 30 }, (_, index) =>
      `]q${String.fromCharCode(index + 1)}(h${String.fromCharCode(index)}h${
        String.fromCharCode(index)
      }e`).join("")
  }`;
  const bytes = Uint8Array.from(`(${doubled}t.`, (character) => character.charCodeAt(0));
  readPickle(bytes);
  // Segments of their own that share one list of blocks.
  const blocks = Array.from(
    { length: 1024 },
    () => new Map<PickleValue, PickleValue>([["size", 512], ["state", "inactive"]]),
  );
  const segments = Array.from({ length: 1100 }, (_, index) =>
    new Map<PickleValue, PickleValue>([
      ["address", index * 512 * 1024],
      ["total_size", 512 * 1024],
      ["segment_type", "small"],
      ["blocks", blocks],
    ]));
  assertThrows(
    () => convertPytorchSnapshot(new Map([["segments", segments]])),
    SnapshotError,
    "has the block after the",
  );
  const milliseconds = performance.now() - start;
  // It takes less than one second; unguarded, a file a little larger takes all time there is.
  assert(milliseconds < 10_000, `it took ${milliseconds} ms`);
});
