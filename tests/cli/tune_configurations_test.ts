// The values of --tune as the kernel's compiler gets them, and as --block and --grid count with them.

import { assertEquals } from "@std/assert";
import { readConfigurations } from "../../src/cli/tune_configurations.ts";

function configurationsOf(...tune: readonly string[]) {
  return readConfigurations({ json: false, options: {}, lists: { tune }, positional: [] });
}

Deno.test("the values of --tune are numbers exactly where C++ reads the same ones", async () => {
  const values: readonly (readonly [string, number | string])[] = [
    ["0", 0],
    ["7", 7],
    ["-3", -3],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", "9007199254740993"],
    // Octal.
    ["010", "010"],
    ["-010", "-010"],
    ["-0", "-0"],
    ["0x20", "0x20"],
    ["1e3", "1e3"],
    ["float", "float"],
  ];
  for (const [text, value] of values) {
    assertEquals(await configurationsOf(`A=${text}`), [{ A: value }], text);
  }
  assertEquals(await configurationsOf("A=10,010"), [{ A: 10 }, { A: "010" }]);
});

Deno.test("the values of several --tune are combined, those of the last fastest", async () => {
  assertEquals(await configurationsOf("A=1,2", "B=x, y"), [
    { A: 1, B: "x" },
    { A: 1, B: "y" },
    { A: 2, B: "x" },
    { A: 2, B: "y" },
  ]);
});
