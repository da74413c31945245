import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ModelPolicy, SegmentContent } from "../../../bench/memory_models/model_allocator.ts";
import { MODELS } from "../../../bench/memory_models/policies.ts";

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
function assertSound(allocator: Allocator, asked: ReadonlyMap<number, number>): void {
  const segments = allocator.segments();
  segments.forEach(assertContiguous);
  const blocks = segments.flatMap((segment) => segment.blocks);
  const live = new Map(
    blocks.flatMap(({ block, bytes }) => block === null ? [] : [[block, bytes] as const]),
  );
  for (const [block, bytes] of asked) {
    assert(bytes === 0 || live.get(block)! >= bytes, `block ${block} has ${live.get(block)}`);
  }
  assertEquals(live.size, [...asked.values()].filter((bytes) => bytes > 0).length);
  const held = blocks.filter(({ state }) => state !== "unmapped")
    .reduce((sum, { bytes }) => sum + bytes, 0);
  assertEquals(held, allocator.reservedBytes);
  assert(allocator.reservedBytes <= CAPACITY);
}

function pick(asked: ReadonlyMap<number, number>, choice: number): number | undefined {
  return asked.size === 0 ? undefined : [...asked.keys()][choice % asked.size];
}

function run(policy: ModelPolicy, operations: readonly Operation[]): void {
  const allocator = policy.create({ capacityBytes: CAPACITY });
  const asked = new Map<number, number>();
  assertSound(allocator, asked);
  operations.forEach(({ kind, bytes, stream, alignment, choice }, number) => {
    const calls = allocator.upstreamCalls;
    const block = pick(asked, choice);
    if (kind === "allocate") {
      if (allocator.allocate(number, bytes, stream, alignment)) {
        asked.set(number, bytes + (bytes === 0 ? 0 : Math.max(0, (alignment ?? 1) - 512)));
      } else assert(allocator.upstreamCalls > calls, "refused without a request");
    } else if (block !== undefined && kind === "free") {
      allocator.free(block);
      asked.delete(block);
      assertEquals(allocator.upstreamCalls, calls, "freeing makes no request");
    } else if (block !== undefined) allocator.use(block, stream);
    assertSound(allocator, asked);
  });
  for (const block of asked.keys()) allocator.free(block);
  assertSound(allocator, new Map());
}

for (const policy of MODELS) {
  Deno.test(`the model ${policy.name} neither overlaps nor loses blocks`, () => {
    fc.assert(
      fc.property(
        fc.array(OPERATION, { minLength: 1, maxLength: 120, size: "max" }),
        (operations) => run(policy, operations),
      ),
      { numRuns: 100 },
    );
  });
}
