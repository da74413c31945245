/**
 * Launch parameters as expressions.
 */

import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../src/cli/command.ts";
import { parseLaunchExpressions } from "../../src/cli/launch_expression.ts";

const NAMES = new Map([["BLOCK", 128], ["TILE_2", 3], ["elements", 1000]]);

function values(text: string): number[] {
  return parseLaunchExpressions("grid", text, new Set(NAMES.keys())).map((each) => each(NAMES));
}

Deno.test("expressions have the usual precedence, division is exact, commas part extents", () => {
  for (
    const [text, expected] of [
      ["256", [256]],
      ["2 + 3*4 - 1", [13]],
      ["(2+3)*4", [20]],
      ["10-4-3", [3]],
      ["100/8/5", [2.5]],
      ["17 % 5 * 2", [4]],
      ["elements / BLOCK", [7.8125]],
      ["ceil(elements / BLOCK)", [8]],
      ["floor(elements / (BLOCK*TILE_2)), max(1, TILE_2 - 5, 2), min(9,8)", [2, 2, 8]],
      [" BLOCK , 1 ", [128, 1]],
      ["1.5*2", [3]],
    ] as const
  ) {
    assertEquals(values(text), [...expected], text);
  }
});

Deno.test("what is no expression is refused, and the message says where", () => {
  for (
    const [text, reason] of [
      ["", "it ends too soon"],
      ["1 +", "it ends too soon"],
      ["1 2", 'there is "2" where it should end'],
      ["1 $ 2", '"$ 2" is no part of one'],
      ["(1", 'a ")" is missing'],
      ["1)", 'there is ")" where it should end'],
      ["block", '"block" is none of BLOCK, TILE_2, elements'],
      ["ceil 1", 'ceil must be followed by "("'],
      ["ceil(1, 2)", "ceil takes one value"],
      ["1,,2", 'there is "," where a number or name should be'],
      ["*2", 'there is "*" where a number or name should be'],
      ["toString", "is none of"],
      ["(".repeat(200) + "1" + ")".repeat(200), "it is too deep"],
    ] as const
  ) {
    const error = assertThrows(() => values(text), UsageError, reason);
    assertEquals(error.message.startsWith("Cannot use --grid as it must be an expression"), true);
  }
});
