import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { ModelPolicy, SegmentContent } from "../../../bench/memory_models/model_allocator.ts";
import { MODELS } from "../../../bench/memory_models/policies.ts";
import { OrderedSet } from "../../../bench/memory_models/segment_blocks.ts";

type Allocator = ReturnType<ModelPolicy["create"]>;

const MiB = 2 ** 20;

/** Small enough to run out of, and large enough for the bins of `binning` to be made. */
const CAPACITY = 2048 * MiB;

/** A random operation: `choice` picks among the live blocks. */
interface Operation {
  readonly kind: "allocate" | "free" | "use";
  readonly bytes: number;
  readonly stream: number;
  readonly alignment: number | undefined;
  readonly choice: number;
}

const BYTES = fc.oneof(
  fc.constantFrom(0, 1, 255, 256, 257, 511, 512, 513, MiB - 1, MiB, MiB + 1),
  fc.constantFrom(10 * MiB - 512, 10 * MiB, 20 * MiB + 1, 300 * MiB, 3000 * MiB),
  fc.integer({ min: 1, max: 4096 }),
  fc.integer({ min: 1, max: 64 * MiB }),
  fc.constant(Number.MAX_SAFE_INTEGER),
);

const OPERATION: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom("allocate", "allocate", "allocate", "free", "free", "use"),
  bytes: BYTES,
  stream: fc.integer({ min: 0, max: 2 }),
  alignment: fc.constantFrom(undefined, undefined, 1, 512, 4096, 2 * MiB),
  choice: fc.nat(),
});

/** Parts follow each other without gap or overlap, and none is empty. */
function assertContiguous({ bytes, blocks }: SegmentContent): void {
  let end = 0;
  for (const { offset, bytes: size } of blocks) {
    assertEquals(offset, end);
    assert(size > 0);
    end += size;
  }
  assert(end <= bytes, `${end} of ${bytes}`);
}

/** Checks that nothing overlaps or is lost, and that every block has its requested size. */
function assertSound(allocator: Allocator, granted: ReadonlyMap<number, number>): void {
  const segments = allocator.segments();
  segments.forEach(assertContiguous);
  const blocks = segments.flatMap((segment) => segment.blocks);
  const live = new Map(
    blocks.flatMap(({ block, bytes }) => block === null ? [] : [[block, bytes] as const]),
  );
  for (const [block, bytes] of granted) {
    assert(bytes === 0 || live.get(block)! >= bytes, `block ${block} has ${live.get(block)}`);
  }
  assertEquals(live.size, [...granted.values()].filter((bytes) => bytes > 0).length);
  const held = blocks.filter(({ state }) => state !== "unmapped")
    .reduce((sum, { bytes }) => sum + bytes, 0);
  assertEquals(held, allocator.reservedBytes);
  assert(allocator.reservedBytes <= CAPACITY);
}

function pick(granted: ReadonlyMap<number, number>, choice: number): number | undefined {
  return granted.size === 0 ? undefined : [...granted.keys()][choice % granted.size];
}

function run(policy: ModelPolicy, operations: readonly Operation[]): void {
  const allocator = policy.create({ capacityBytes: CAPACITY });
  const granted = new Map<number, number>();
  assertSound(allocator, granted);
  operations.forEach(({ kind, bytes, stream, alignment, choice }, number) => {
    const calls = allocator.upstreamCalls;
    const block = pick(granted, choice);
    if (kind === "allocate") {
      if (allocator.allocate(number, bytes, stream, alignment)) {
        granted.set(number, bytes + (bytes === 0 ? 0 : Math.max(0, (alignment ?? 1) - 512)));
      } else assert(allocator.upstreamCalls > calls, "refused without a request");
    } else if (block !== undefined && kind === "free") {
      allocator.free(block);
      granted.delete(block);
      assertEquals(allocator.upstreamCalls, calls, "freeing makes no request");
    } else if (block !== undefined) allocator.use(block, stream);
    assertSound(allocator, granted);
  });
  for (const block of granted.keys()) allocator.free(block);
  assertSound(allocator, new Map());
}

for (const policy of MODELS) {
  Deno.test(`${policy.name} neither overlaps nor loses blocks when requests are random`, () => {
    fc.assert(
      fc.property(
        fc.array(OPERATION, { minLength: 1, maxLength: 120, size: "max" }),
        (operations) => run(policy, operations),
      ),
      { numRuns: 100 },
    );
  });
}

Deno.test("OrderedSet agrees with a sorted Set on random operations", () => {
  const operation = fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 40 }));
  fc.assert(fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
    const set = new OrderedSet<number>((left, right) => left - right);
    const model = new Set<number>();
    for (const [insert, value] of operations) {
      if (!insert) assertEquals(set.delete(value), model.delete(value));
      else if (model.has(value)) assertThrows(() => set.insert(value), TypeError);
      else {
        set.insert(value);
        model.add(value);
      }
      assertEquals([...set], [...model].sort((left, right) => left - right));
    }
  }));
});
