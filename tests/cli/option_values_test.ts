// Values of options that look like options themselves: a compiler's begin with a dash, too.

import { assertEquals, assertThrows } from "@std/assert";
import { type Command, UsageError } from "../../src/cli/command.ts";
import { readCommandLine } from "../../src/cli/command_line.ts";

const RUN: Command = {
  name: "run",
  summary: "runs",
  help: "",
  options: { values: ["shared"], flags: ["ptx"], lists: ["option"] },
  run: () => Promise.resolve(0),
};

function read(...args: string[]) {
  const { positional, options, lists, json } = readCommandLine([RUN], ["run", ...args]).invocation;
  return { positional, options, lists, json };
}

Deno.test("a value with a dash belongs to the option before it", () => {
  const nothing = { positional: [], options: {}, lists: {}, json: false };
  for (
    const [args, expected] of [
      [["--option", "-O3"], { lists: { option: ["-O3"] } }],
      [["--option=-O3"], { lists: { option: ["-O3"] } }],
      [["--option", "--use_fast_math", "--json"], {
        lists: { option: ["--use_fast_math"] },
        json: true,
      }],
      [["--option", "-O3", "--option", "-I/x", "k.cu"], {
        lists: { option: ["-O3", "-I/x"] },
        positional: ["k.cu"],
      }],
      [["--shared", "-1"], { options: { shared: "-1" } }],
      [["--option=--json", "--ptx"], { lists: { option: ["--json"] }, options: { ptx: true } }],
      // Not behind an option that takes a value: a number, which is no option.
      [["--ptx", "-2", "-.5", "-inf"], {
        positional: ["-2", "-.5", "-inf"],
        options: { ptx: true },
      }],
    ] as const
  ) {
    assertEquals(read(...args), { ...nothing, ...expected } as ReturnType<typeof read>);
  }
});

Deno.test("an option of ours is no value, and no other text with a dash is an argument", () => {
  for (
    const [args, message] of [
      [["--option", "--json"], "Cannot use --option as it must have a value"],
      [["--option", "--shared=1"], "Cannot use --option as it must have a value"],
      [["--option"], "Cannot use --option as it must have a value"],
      [["--shared", "--ptx"], "Cannot use --shared as it must have a value"],
      [["--ptx", "-O3"], "Cannot use -O3 as there is no such option"],
      [["-O3"], "Cannot use -O3 as there is no such option"],
    ] as const
  ) {
    assertThrows(() => read(...args), UsageError, message);
  }
});
