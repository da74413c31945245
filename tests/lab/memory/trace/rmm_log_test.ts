// RMM logs with the headers of all its versions.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { isRmmLog, readRmmLog } from "../../../../src/lab/memory/trace/allocator_logs.ts";
import { TraceError } from "../../../../src/lab/memory/trace/memory_trace.ts";

const HEADER = "Thread,Time,Action,Pointer,Size,Stream\n";

// The rows are in the form of `logging_resource_adaptor_impl.cpp`: "%t,%H:%M:%S.%f," before
// "allocate,%p,%zu,%s", the stream as `std::hex` prints a pointer.
const LOG = `${HEADER}1847,12:10:01.000001,allocate,0x7f4c00000000,1000,0
1847,12:10:01.000002,allocate,0x7f4c00000400,2000,0x55d0c8a2b1f0
1848,12:10:01.000003,allocate failure,(nil),99999999999999,0
1847,12:10:01.000004,free,0x7f4c00000000,1000,0x55d0c8a2b1f0
1848,12:10:01.000005,allocate,0x7f4c00000000,1024,0
1848,12:10:01.000006,free,0x7f4c00000400,2000,0x55D0C8A2B1F0
`;

function refusal(rows: string, header = HEADER): string {
  const error = assertThrows(() => readRmmLog(header + rows, "log"), TraceError);
  assert(error.message.startsWith("Cannot read the RMM log log as "), error.message);
  return error.message.slice("Cannot read the RMM log log as ".length);
}

Deno.test("readRmmLog() reads allocations, frees and frees on other streams", () => {
  const trace = readRmmLog(LOG, "log");
  assertEquals(trace.events, [
    { kind: "allocate", block: 0, bytes: 1000, stream: 0 },
    { kind: "allocate", block: 1, bytes: 2000, stream: 1 },
    { kind: "use", block: 0, stream: 1 },
    { kind: "free", block: 0 },
    { kind: "allocate", block: 2, bytes: 1024, stream: 0 },
    { kind: "free", block: 1 },
  ]);
  assertEquals(
    trace.description,
    "A log of RMM, the RAPIDS memory manager; 1 failed allocations left out.",
  );
});

Deno.test("readRmmLog() finds columns by name, with and without threads, in any order", () => {
  const events = readRmmLog(LOG, "log").events;
  const rows = LOG.trimEnd().split("\n").map((row) => row.split(","));
  const old = rows.map((row) => row.slice(1).join(",")).join("\n");
  assertEquals(old.split("\n")[0], "Time,Action,Pointer,Size,Stream");
  assertEquals(readRmmLog(old, "old").events, events);
  const reversed = rows.map((row) => row.toReversed().join(", ")).join("\r\n");
  assert(isRmmLog(reversed.split("\r\n")[0]!));
  assertEquals(readRmmLog(reversed, "reversed").events, events);
});

Deno.test("readRmmLog() gives every empty allocation, of the null pointer, its own block", () => {
  const rows = ["allocate", "allocate", "free", "free"]
    .map((action) => `1,0:0:0,${action},(nil),0,0\n`).join("");
  assertEquals(readRmmLog(HEADER + rows, "log").events.map(({ kind }) => kind), [
    ...["allocate", "allocate", "free", "free"],
  ]);
  assertEquals(readRmmLog(HEADER, "log").events, []);
});

Deno.test("readRmmLog() names the line and the column of an error", () => {
  const row = (action: string, pointer = "0x10", size = "8", stream = "0") =>
    `1,0:0:0,${action},${pointer},${size},${stream}\n`;
  const cases: readonly (readonly [string, string])[] = [
    [
      row("grow"),
      'line 2: Action must be allocate, free or allocate failure: it is "grow"',
    ],
    [row("free"), 'line 2: Pointer must be allocated when it is freed: it is "0x10"'],
    [
      row("allocate") + row("allocate"),
      'line 3: Pointer must be free when it is allocated: it is "0x10"',
    ],
    [row("allocate") + row("free", "0x10", "9"), "line 3: Size must be 8, as it was allocated"],
    [row("allocate", "nowhere"), "line 2: Pointer must be a hexadecimal pointer or (nil)"],
    [row("allocate", "0x"), "line 2: Pointer must be a hexadecimal pointer or (nil)"],
    [row("allocate", "(nil)"), "line 2: Pointer must not be null with a Size of 8"],
    [row("allocate", "0x10", "-8"), "line 2: Size must be an integer in 0..9007199254740991"],
    [row("allocate", "0x10", "9007199254740992"), "line 2: Size must be an integer"],
    [row("allocate", "0x10", "8", "default"), "line 2: Stream must be a hexadecimal pointer"],
    [
      row("allocate") + "1,0:0:0,free,0x10\n",
      "line 3: it must have 6 fields (Thread, Time, Action, Pointer, Size, Stream): it has 4",
    ],
    ["\n" + row("allocate"), "line 2: it must not be empty as rows follow"],
  ];
  for (const [rows, expected] of cases) {
    const message = refusal(rows);
    assert(message.startsWith(expected), `${JSON.stringify(rows)}: ${message}`);
  }
  assert(refusal("", "Thread,Time,Action,Pointer,Size\n").startsWith("line 1: column Stream is"));
  assert(refusal("", "Action,Action\n").startsWith('line 1: column "Action" comes twice'));
  assert(refusal("", "Action,,Size\n").startsWith("line 1: column 2 must have a name"));
});
