// PyTorch's snapshots, in every protocol of pickle, become ours: each field where the documentation
// of the module says, and a trace of what the program asked for.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { TIMELINE_ACTIONS } from "../../../../src/lab/memory/snapshot/memory_snapshot.ts";
import type { PickleValue } from "../../../../src/lab/memory/snapshot/pickle_value.ts";
import { convertPytorchSnapshot } from "../../../../src/lab/memory/snapshot/pytorch_snapshot.ts";
import { readSnapshot } from "../../../../src/lab/memory/snapshot/read_snapshot.ts";
import { SnapshotError } from "../../../../src/lab/memory/snapshot/snapshot_error.ts";
import { readTrace } from "../../../../src/lab/memory/trace/read_trace.ts";

const MIB = 2 ** 20;
const BASE = 0x7f0000000000;

/** What `fixtures/make_pytorch_snapshot.py` wrote. */
function fixture(protocol: number): Uint8Array {
  return Deno.readFileSync(
    new URL(`./fixtures/pytorch_protocol_${protocol}.pickle`, import.meta.url),
  );
}

const FORWARD = "forward (/srv/model.py:7)\ntrain_step (/srv/train.py:42)";
const STEP = "train_step (/srv/train.py:42)";

Deno.test("readSnapshot() reads the same from PyTorch's pickle in every protocol", () => {
  const first = readSnapshot(fixture(0));
  for (const protocol of [1, 2, 3, 4, 5]) assertEquals(readSnapshot(fixture(protocol)), first);
});

Deno.test("readSnapshot() puts PyTorch's segments, blocks and settings in their places", () => {
  const snapshot = readSnapshot(fixture(4));
  assertEquals(snapshot.source, "pytorch");
  // The `snapshot` entry of the trace, 6 milliseconds into 2026.
  assertEquals(snapshot.takenAt, "2026-01-01T00:00:00.006Z");
  assertEquals(snapshot.device, { label: "cuda:1", name: "", fake: false, totalBytes: null });
  assertEquals(snapshot.streams, ["default stream", "stream 0x55d0c8a2b1f0"]);
  assertEquals(snapshot.sites, [FORWARD, STEP]);
  assertEquals(snapshot.settings, {
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "max_split_size": "9223372036854775807",
    "garbage_collection_threshold": 0,
    "expandable_segments": true,
    "roundup_power2_divisions.1": 0,
    "roundup_power2_divisions.2": 4,
  });
  assertEquals(snapshot.statistics, {
    total_size: 24 * MIB,
    allocated_size: 1024 + 20 * MIB,
    active_size: 1536 + 20 * MIB,
    requested_size: 1000 + 20 * MIB - 3,
  });
  const age = null;
  assertEquals(snapshot.segments, [
    {
      address: BASE,
      bytes: 2 * MIB,
      kind: "plain",
      pool: "small",
      blocks: [
        { offset: 0, bytes: 1024, requested: 1000, state: "live", stream: 0, age, site: 0 },
        { offset: 1024, bytes: 512, requested: 0, state: "pending", stream: 0, age, site: 1 },
        {
          ...{ offset: 1536, bytes: 2 * MIB - 1536, requested: 0, state: "free" },
          ...{ stream: 0, age, site: null },
        },
      ],
    },
    {
      address: BASE + 4 * MIB,
      bytes: 20 * MIB,
      kind: "virtual",
      pool: "large",
      blocks: [{
        ...{ offset: 0, bytes: 20 * MIB, requested: 20 * MIB - 3, state: "live" },
        ...{ stream: 1, age, site: 1 },
      }],
    },
    {
      address: BASE + 64 * MIB,
      bytes: 2 * MIB,
      kind: "plain",
      pool: "graph",
      blocks: [
        { offset: 0, bytes: 2 * MIB, requested: 0, state: "free", stream: 0, age, site: null },
      ],
    },
  ]);
});

Deno.test("readSnapshot() makes a timeline of PyTorch's trace that ends at its segments", () => {
  const { timeline } = readSnapshot(fixture(4));
  assert(timeline !== null);
  const rows = timeline.action.map((action, index) => [
    timeline.time[index],
    TIMELINE_ACTIONS[action],
    timeline.address[index],
    timeline.bytes[index],
    timeline.stream[index],
    timeline.site[index],
  ]);
  const big = 20 * MIB - 3;
  assertEquals(rows, [
    [0, "free", BASE + 8192, 4096, 0, 1],
    [1.5, "reserve", BASE + 4 * MIB, 20 * MIB, 1, 1],
    [1.5, "allocate", BASE + 4 * MIB, big, 1, 1],
    // The clock went back 0.1 milliseconds.
    [1.5, "allocate", BASE + 1024, 4, 0, 1],
    [2.5, "free", BASE + 1024, 4, 0, 1],
    [3, "reserve", BASE + 128 * MIB, 2 * MIB, 0, -1],
    [3, "allocate", BASE + 128 * MIB, 100, 0, -1],
    [3.5, "free", BASE + 128 * MIB, 100, 0, -1],
    [4, "unreserve", BASE + 128 * MIB, 2 * MIB, 0, -1],
    [5, "out of memory", 0, 2 ** 40, 0, 0],
  ]);
  // 1000 bytes are live throughout, 4096 until the first event.
  assertEquals(
    timeline.live,
    [1000, 1000, ...[0, 4, 0, 0, 100, 0, 0, 0].map((more) => 1000 + big + more)],
  );
  // At the end the three segments are reserved, of which one came during the trace.
  assertEquals(
    timeline.reserved.map((bytes) => bytes / MIB),
    [4, 24, 24, 24, 24, 26, 26, 26, 24, 24],
  );
  assertEquals(new Set(timeline.largestFree), new Set([-1]));
});

Deno.test("readTrace() makes a trace of PyTorch's, what was there before first", () => {
  const { events, description } = readTrace(fixture(2), "torch");
  assertEquals(events, [
    { kind: "allocate", block: 0, bytes: 1000, stream: 0 },
    { kind: "allocate", block: 1, bytes: 4096, stream: 0 },
    { kind: "free", block: 1 },
    { kind: "allocate", block: 2, bytes: 20 * MIB - 3, stream: 1 },
    { kind: "allocate", block: 3, bytes: 4, stream: 0 },
    { kind: "free", block: 3 },
    { kind: "allocate", block: 4, bytes: 100, stream: 0 },
    { kind: "free", block: 4 },
  ]);
  assertEquals(
    description,
    "The timeline of a snapshot of pytorch on cuda:1; 2 blocks were there before.",
  );
});

Deno.test("readSnapshot() reads the device that it is told, of those that there are", () => {
  const other = readSnapshot(fixture(4), { device: 2 });
  assertEquals(other.device.label, "cuda:2");
  assertEquals(other.segments.map(({ address }) => address), [BASE + 512 * MIB]);
  assertEquals([other.timeline, other.takenAt, other.sites], [null, null, []]);
  const error = assertThrows(() => readSnapshot(fixture(4), { device: 0 }), RangeError);
  assertEquals(
    error.message,
    "Cannot read the snapshot as device must be one that it has (1, 2): it is 0",
  );
  for (const device of [-1, 1.5, NaN]) {
    assertThrows(() => readSnapshot(fixture(4), { device }), RangeError);
  }
});

/** A dictionary as a pickle has it. */
function dictionary(fields: Record<string, unknown>): PickleValue {
  return new Map(Object.entries(fields)) as PickleValue;
}

function segment(fields: Record<string, unknown> = {}): PickleValue {
  return dictionary({
    ...{ device: 0, address: 4096, total_size: 1024, stream: 0, segment_type: "small" },
    blocks: [dictionary({ size: 1024, state: "inactive" })],
    ...fields,
  });
}

Deno.test("convertPytorchSnapshot() reads what old versions wrote", () => {
  const history = [dictionary({
    real_size: 1000,
    frames: [dictionary({ name: "f", filename: "a.py", line: 3 })],
  })];
  const blocks = [dictionary({ size: 1024, state: "active_allocated", history })];
  // A list of segments, blocks with a history and without addresses or requested sizes.
  const snapshot = convertPytorchSnapshot([segment({ blocks })]);
  assertEquals(snapshot.sites, ["f (a.py:3)"]);
  assertEquals(snapshot.segments[0]!.blocks[0]!.requested, 1024);
  assertEquals([snapshot.timeline, snapshot.settings], [null, {}]);
  assertEquals(snapshot.statistics, { total_size: 1024 });
  // The documentation's name of the state that the sources call active_pending_free.
  const waiting = [dictionary({ size: 1024, state: "active_awaiting_free" })];
  assertEquals(
    convertPytorchSnapshot([segment({ blocks: waiting })]).segments[0]!.blocks[0]!.state,
    "pending",
  );
  // A trace without times, whose frees were all left out.
  const trace = [
    dictionary({ action: "alloc", addr: 4096, size: 8, stream: 0 }),
    dictionary({ action: "alloc", addr: 4096, size: 16, stream: 0 }),
  ];
  const { timeline } = convertPytorchSnapshot(dictionary({ segments: [], device_traces: [trace] }));
  assertEquals(timeline!.time, [0, 0, 0]);
  const actions: unknown[] = timeline!.action.map((action) => TIMELINE_ACTIONS[action]);
  assertEquals(actions, ["allocate", "free", "allocate"]);
  assertEquals(timeline!.live, [8, 0, 16]);
});

Deno.test("convertPytorchSnapshot() names the field that is wrong", () => {
  const entry = (fields: Record<string, unknown>) => ({
    segments: [],
    device_traces: [[], [
      dictionary({ action: "alloc", addr: 4096, size: 8, stream: 0, time_us: 1, ...fields }),
    ]],
  });
  const block = (fields: Record<string, unknown>) => ({
    segments: [segment({
      blocks: [dictionary({ size: 1024, state: "active_allocated", ...fields })],
    })],
  });
  const frames = (fields: Record<string, unknown>) =>
    block({ frames: [dictionary({ name: "f", filename: "a", line: 1, ...fields })] });
  const cases: readonly (readonly [PickleValue | Record<string, unknown>, string])[] = [
    [7, "the file must be a dictionary: it is 7"],
    [{}, "segments must be a list: it is undefined"],
    [{ segments: [3] }, "segments[0] must be a dictionary: it is 3"],
    [
      { segments: [segment({ address: "x" })] },
      'segments[0].address must be an integer in 0..9007199254740991: it is "x"',
    ],
    [{ segments: [segment({ address: -1 })] }, "segments[0].address must be an integer in 0.."],
    [{ segments: [segment({ total_size: 2n ** 63n })] }, "segments[0].total_size must be an"],
    [
      { segments: [segment({ total_size: 2048 })] },
      "segments[0].total_size must be 1024, the size of its blocks: it is 2048",
    ],
    [{ segments: [segment({ segment_type: "big" })] }, "segments[0].segment_type must be small,"],
    [{ segments: [segment({ is_expandable: 1 })] }, "segments[0].is_expandable must be True or"],
    [{ segments: [segment({ device: -1 })] }, "segments[0].device must be an integer in 0.."],
    [{ segments: [segment(), segment()] }, "segments[1].address must be behind the end of"],
    [block({ state: "gone" }), "segments[0].blocks[0].state must be active_allocated, active_"],
    [block({ size: 0 }), "segments[0].blocks[0].size must be at least 1: it is 0"],
    [block({ requested_size: 1025 }), "segments[0].blocks[0].requested_size must be at most size"],
    [
      block({ address: 4097 }),
      "segments[0].blocks[0].address must be 4096, where the block before",
    ],
    [block({ frames: 7 }), "segments[0].blocks[0].frames must be a list: it is 7"],
    [block({ frames: [7] }), "segments[0].blocks[0].frames[0] must be a dictionary: it is 7"],
    [frames({ line: "1" }), "segments[0].blocks[0].frames[0].line must be a number"],
    [frames({ name: null }), "segments[0].blocks[0].frames[0].name must be a text: it is null"],
    [frames({ filename: 1 }), "segments[0].blocks[0].frames[0].filename must be a text"],
    [{ segments: [], device_traces: [7] }, "device_traces[0] must be a list: it is 7"],
    [{ segments: [], device_traces: [[7]] }, "device_traces[0][0] must be a dictionary: it is 7"],
    [entry({ action: "grow" }), "device_traces[1][0].action must be alloc, free_requested, "],
    [entry({ size: 1.5 }), "device_traces[1][0].size must be an integer in 0.."],
    [entry({ addr: null }), "device_traces[1][0].addr must be an integer in 0.."],
    [entry({ time_us: -1 }), "device_traces[1][0].time_us must be an integer in 0.."],
    [{ segments: [], allocator_settings: 3 }, "allocator_settings must be a dictionary: it is 3"],
  ];
  for (const [value, expected] of cases) {
    const read = typeof value === "object" && value !== null && !Array.isArray(value)
      ? dictionary(value as Record<string, unknown>)
      : value as PickleValue;
    const { message } = assertThrows(() => convertPytorchSnapshot(read), SnapshotError);
    assert(message.startsWith(`Cannot read the snapshot as ${expected}`), message);
  }
  const free = dictionary({ action: "free_requested", addr: 4096, size: 8, stream: 0 });
  assertThrows(
    () => convertPytorchSnapshot(dictionary({ segments: [], device_traces: [[free, free]] })),
    SnapshotError,
    "device_traces[0][1].addr must be the address of a live block: it is 4096",
  );
});
