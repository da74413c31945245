import { assert, assertThrows } from "@std/assert";
import * as memory from "../../../src/lab/memory/mod.ts";

/** Wrong arguments of every kind: each function refuses all of them. */
const WRONG: readonly (readonly unknown[])[] = [
  [null],
  [undefined],
  [7],
  [{}],
  [[]],
  [{ events: null }],
  [{ name: "x", description: "", events: [null] }],
  [{ segments: [] }],
];

const NAMES =
  "formatTrace memoryReport memoryReportFigures memoryReportText parseTrace readSnapshot " +
  "readTrace recordHistory recordTrace replayTrace snapshotPool traceOfSnapshot validateSnapshot";

Deno.test("functions of `./memory` refuse wrong arguments by name", () => {
  const functions = memory as unknown as Record<string, (...values: unknown[]) => unknown>;
  const trace = { name: "x", description: "", events: [] };
  const calls = [
    ...NAMES.split(" ").flatMap((name) => WRONG.map((values) => [name, ...values] as const)),
    ["replayFigures", null],
    ["replayTrace", trace, null],
    ["replayTrace", trace, {}],
    ["replayTrace", trace, undefined, null],
    ["readTrace", "", "x", null],
  ] as const;
  for (const [name, ...values] of calls) {
    const { message } = assertThrows(() => functions[name]!(...values), Error);
    const call = `${name}(${JSON.stringify(values)}): ${message}`;
    assert(/^Cannot \w+ (?:the|a|an|trace) .*: (?:it is|it has) /s.test(message), call);
    assert(!/properties of|destructure|is not a function/.test(message), call);
  }
});
