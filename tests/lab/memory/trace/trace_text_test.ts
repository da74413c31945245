// The text format of traces.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  formatTrace,
  type MemoryTrace,
  parseTrace,
  TraceBuilder,
  TraceError,
  type TraceEvent,
} from "../../../../src/lab/memory/trace/memory_trace.ts";

const HEADER = "gridstride memory trace 1\n";

const EXAMPLE = `${HEADER}# anything
a 0 1048576 0
a 1 4096 0 65536
u 1 1
f 0
# more of it
s 0
d 1
p step
end 7
`;

const EVENTS: readonly TraceEvent[] = [
  { kind: "allocate", block: 0, bytes: 1048576, stream: 0 },
  { kind: "allocate", block: 1, bytes: 4096, stream: 0, alignment: 65536 },
  { kind: "use", block: 1, stream: 1 },
  { kind: "free", block: 0 },
  { kind: "synchronize", stream: 0 },
  { kind: "dispose", stream: 1 },
  { kind: "point", name: "step" },
];

/** The line and message of the error that a text gives. */
function refusal(text: string): string {
  const error = assertThrows(() => parseTrace(text, "t"), TraceError);
  assert(error.message.startsWith("Cannot read trace t as "), error.message);
  return error.message.slice("Cannot read trace t as ".length);
}

Deno.test("parseTrace() reads every kind of event", () => {
  const trace = parseTrace(EXAMPLE, "example");
  assertEquals(trace, { name: "example", description: "anything", events: EVENTS });
});

Deno.test("formatTrace() writes what parseTrace() reads", () => {
  const description = "two lines,\n\n# one of them odd";
  const trace: MemoryTrace = { name: "x", description, events: EVENTS };
  assertEquals(parseTrace(formatTrace(trace), "x"), trace);
  assertEquals(formatTrace({ name: "x", description: "", events: [] }), `${HEADER}end 0\n`);
  assertEquals(parseTrace(`${HEADER}end 0`, "x").events, []);
});

/** Events that keep the rules, from arbitrary numbers. */
function eventsOf(choices: readonly (readonly [number, number])[]): readonly TraceEvent[] {
  const builder = new TraceBuilder();
  const live: number[] = [];
  let stream = 0;
  for (const [kind, value] of choices) {
    if (kind === 0) live.push(builder.allocate(value, stream));
    if (kind === 1) live.push(builder.allocate(value, stream, 2 ** (value % 53)));
    if (kind === 2 && live.length > 0) builder.free(live.splice(value % live.length, 1)[0]!);
    if (kind === 3 && live.length > 0) builder.use(live[value % live.length]!, stream + 1);
    if (kind === 4) builder.synchronize(stream);
    if (kind === 5) builder.dispose(stream++);
    if (kind === 6) builder.point(`point ${value} “é”`);
  }
  return builder.build("", "").events;
}

Deno.test("parseTrace() reads every valid trace that formatTrace() writes", () => {
  const choice = fc.tuple(fc.nat(6), fc.nat({ max: Number.MAX_SAFE_INTEGER }));
  fc.assert(fc.property(fc.array(choice, { maxLength: 60 }), (choices) => {
    const trace = { name: "x", description: "d", events: eventsOf(choices) };
    assertEquals(parseTrace(formatTrace(trace), "x"), trace);
  }));
});

Deno.test("parseTrace() refuses a file truncated at any place", () => {
  // Only the last newline may be missing.
  for (let length = 0; length < EXAMPLE.length - 1; length++) {
    assertThrows(() => parseTrace(EXAMPLE.slice(0, length), "t"), TraceError);
  }
  const lines = EXAMPLE.trimEnd().split("\n");
  for (let missing = 2; missing < lines.length; missing++) {
    if (lines[missing]!.startsWith("#")) continue;
    const text = lines.filter((_, index) => index !== missing).join("\n");
    assertThrows(() => parseTrace(text, "t"), TraceError, "line");
  }
  assertEquals(
    refusal(`${HEADER}a 0 1 0\n`),
    'line 3: the trace was cut short: its last line must be "end 1"',
  );
});

Deno.test("parseTrace() names the line and the offence", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["a 0 1 0\na 0 1 0\n", "line 3: block 0 was allocated before"],
    [
      "a 0 1 0\na 2 1 0\n",
      "line 3: block must be 1, the number of allocations so far: it is 2",
    ],
    ["a 0 1 0\nf 0\nf 0\n", "line 4: block 0 is freed after it was freed"],
    ["a 0 1 0\nf 0\nu 0 1\n", "line 4: block 0 is used after it was freed"],
    ["f 0\n", "line 2: block 0 was never allocated"],
    ["d 1\ns 1\n", "line 3: stream 1 was disposed before"],
    ["d 1\na 0 1 1\n", "line 3: stream 1 was disposed before"],
    [
      "a 0 9007199254740992 0\n",
      "line 2: bytes must be an integer in 0..9007199254740991: it is 9007199254740992",
    ],
    [`a 0 ${"9".repeat(400)} 0\n`, "line 2: bytes must be an integer in 0..9007199254740991"],
    ["s 2147483648\n", "line 2: stream must be an integer in 0..2147483647: it is 2147483648"],
    ["a 0 1 0 0\n", "line 2: alignment must be a power of two in 1..2^52: it is 0"],
    ["a 0 1 0 4503599627370497\n", "line 2: alignment must be a power of two"],
    ["a 0 -1 0\n", 'line 2: bytes must be a decimal number: it is "-1"'],
    ["a 0 07 0\n", 'line 2: bytes must be a decimal number: it is "07"'],
    ["a 0  1 0\n", 'line 2: bytes must be a decimal number: it is ""'],
    ["a 0 1\n", "line 2: stream is missing"],
    ["a0 1 1\n", 'line 2: a space must come before block: the line is "a0 1 1"'],
    ["f 0 0\n", "line 2: nothing may follow the fields of free"],
    ["x 1\n", 'line 2: an event must begin with a, f, u, s, d, p or end: the line is "x 1"'],
    ["\n", "line 2: an event must begin with a, f, u, s, d, p or end"],
    ["p\n", "line 2: name is missing"],
    ["p  x\n", "line 2: name must be a text without control characters or outer spaces"],
    ["s 0\nend 2\n", "line 3: the number of events must be 1, as many as there are: it is 2"],
    ["end\n", "line 2: the number of events is missing"],
    ["ending 0\n", "line 2: a space must come before the number of events"],
    ["end 0\ns 0\n", 'line 3: nothing may follow "end": the line is "s 0"'],
  ];
  for (const [body, expected] of cases) {
    const message = refusal(HEADER + body);
    assert(message.startsWith(expected), `${JSON.stringify(body)}: ${message}`);
  }
});

Deno.test("parseTrace() refuses another first line", () => {
  for (
    const text of ["", "\n", "gridstride memory trace 2\nend 0\n", " gridstride memory trace 1"]
  ) {
    assert(refusal(text).startsWith('line 1: it must be "gridstride memory trace 1"'), text);
  }
});

Deno.test("formatTrace() refuses invalid events", () => {
  const refused = (event: unknown) => {
    const trace = { name: "t", description: "", events: [event as TraceEvent] };
    const error = assertThrows(() => formatTrace(trace), TraceError);
    assertEquals(error.line, undefined);
    return error.message;
  };
  assertEquals(
    refused({ kind: "point", name: "a\nb" }),
    "Cannot write trace t as events[0]: name must be a text without control characters or outer " +
      'spaces: it is "a\\nb"',
  );
  for (const bytes of [-1, 1.5, NaN, Infinity, 2 ** 53, "1", undefined]) {
    assert(refused({ kind: "allocate", block: 0, bytes, stream: 0 }).includes("bytes must be"));
  }
  assert(refused({ kind: "resize" }).includes("kind must be allocate"));
  assert(refused({ kind: "free", block: -1 }).includes("was never allocated"));
  assert(refused({ kind: "free", block: 0.5 }).includes("was never allocated"));
});
