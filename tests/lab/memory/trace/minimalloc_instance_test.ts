// Instances of minimalloc as traces.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { TraceError, type TraceEvent } from "../../../../src/lab/memory/trace/memory_trace.ts";
import { readMinimallocInstance } from "../../../../src/lab/memory/trace/allocator_logs.ts";

// The example of google/minimalloc's README (Apache-2.0).
const EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";

// The first buffers of benchmarks/challenging/A.1048576.csv of google/minimalloc (Apache-2.0).
const CHALLENGING = "id,lower,upper,size\n0,995328,1000448,656384\n1,779264,828416,183296\n" +
  "2,0,1048576,5120\n";

function briefly(events: readonly TraceEvent[]): string[] {
  return events.map((event) =>
    event.kind === "allocate" ? `a${event.bytes}` : event.kind === "free" ? `f${event.block}` : "?"
  );
}

function refusal(text: string): string {
  const error = assertThrows(() => readMinimallocInstance(text, "i"), TraceError);
  assert(error.message.startsWith("Cannot read the minimalloc instance i as "), error.message);
  return error.message.slice("Cannot read the minimalloc instance i as ".length);
}

Deno.test("readMinimallocInstance() frees before it allocates at each time", () => {
  // In order of time: b1, b3, b5 begin at 0; b1 ends at 3, where b2 begins; b2 and b3 end at 9,
  // where b4 begins; b4 and b5 end at 21. Blocks are numbered as they are allocated.
  assertEquals(
    briefly(readMinimallocInstance(EXAMPLE, "i").events),
    ["a4", "a4", "a4", "f0", "a4", "f3", "f1", "a4", "f4", "f2"],
  );
});

Deno.test("readMinimallocInstance() multiplies sizes", () => {
  assertEquals(
    briefly(readMinimallocInstance(CHALLENGING, "i", 1024).events),
    [5120, 183296, 656384].map((size) => `a${size * 1024}`).toSpliced(2, 0, "f1")
      .concat(["f2", "f0"]),
  );
  for (const multiplier of [0, -1, 1.5, NaN, 2 ** 53]) {
    const error = assertThrows(
      () => readMinimallocInstance(EXAMPLE, "i", multiplier),
      RangeError,
    );
    assert(error.message.includes(`multiplier must be an integer of at least 1`), error.message);
  }
});

Deno.test("readMinimallocInstance() reads older column names, alignments and other columns", () => {
  const old = "buffer_id,start,end,size\nb1,0,2,4\nb2,3,8,4\nb3,0,8,4\nb4,9,20,4\nb5,0,20,4\n";
  assertEquals(
    readMinimallocInstance(old, "i").events,
    readMinimallocInstance(EXAMPLE, "i").events,
  );
  const aligned = "offset,size,upper,begin,buffer,alignment,hint,gaps\n0,8,2,1,x,64,-1,1-2@0:4\n" +
    "8,8,2,1,y,1,-1,\n";
  assertEquals(readMinimallocInstance(aligned, "i").events.slice(0, 2), [
    { kind: "allocate", block: 0, bytes: 8, stream: 0, alignment: 64 },
    { kind: "allocate", block: 1, bytes: 8, stream: 0 },
  ]);
});

Deno.test("readMinimallocInstance() keeps exactly the buffers of each time alive", () => {
  const buffer = fc.record({ lower: fc.nat(20), length: fc.integer({ min: 1, max: 9 }) });
  fc.assert(fc.property(fc.array(buffer, { maxLength: 30 }), (buffers) => {
    const rows = buffers.map(({ lower, length }, index) =>
      // The size identifies the buffer.
      `${index},${lower},${lower + length},${index}\n`
    );
    const { events } = readMinimallocInstance(`id,lower,upper,size\n${rows.join("")}`, "i");
    const buffersOfBlocks: number[] = [];
    const live = new Set<number>();
    for (const event of events) {
      if (event.kind === "free") live.delete(buffersOfBlocks[event.block]!);
      if (event.kind !== "allocate") continue;
      buffersOfBlocks[event.block] = event.bytes;
      live.add(event.bytes);
      const now = buffers[event.bytes]!.lower;
      for (const index of live) {
        const { lower, length } = buffers[index]!;
        assert(lower <= now && now < lower + length);
      }
    }
    assertEquals(buffersOfBlocks.length, buffers.length);
    assertEquals(live.size, 0);
  }));
});

Deno.test("readMinimallocInstance() names the line and the column of an error", () => {
  const header = "id,lower,upper,size\n";
  const cases: readonly (readonly [string, string])[] = [
    [`${header}b1,0,3,4\nb1,0,3,4\n`, 'line 3: id must name one row only: it is "b1"'],
    [`${header},0,3,4\n`, 'line 2: id must name one row only: it is ""'],
    [`${header}b1,3,3,4\n`, 'line 2: upper must leave time to live after 3: it is "3"'],
    [`${header}b1,x,3,4\n`, "line 2: lower must be an integer in -9007199254740990.."],
    [`${header}b1,0,3,-4\n`, 'line 2: size must be an integer in 0..9007199254740991: it is "-4"'],
    [`${header}b1,0,3,4e3\n`, "line 2: size must be an integer"],
    [`${header}b1,0,3\n`, "line 2: it must have 4 fields (id, lower, upper, size): it has 3"],
    ["id,lower,size\n", "line 1: column upper or end is missing"],
    ["id,lower,upper,size,colour\n", "line 1: column must be one of id, buffer, buffer_id"],
    ["id,lower,upper,size,alignment\nb,0,1,4,3\n", "line 2: alignment must be a power of two"],
    ["id,lower,upper,size,alignment\nb,0,1,4,0\n", "line 2: alignment must be an integer in 1.."],
    ["", "line 1: column 1 must have a name"],
  ];
  for (const [text, expected] of cases) {
    const message = refusal(text);
    assert(message.startsWith(expected), `${JSON.stringify(text)}: ${message}`);
  }
});
