// The reader of machine code, which the tests of the kernels' code use.
// Needs no GPU: it compiles for given architectures.

import { assertEquals } from "@std/assert";
import { readInstructions } from "./machine_code.ts";

Deno.test("readInstructions() finds instructions behind predicates, and loops", () => {
  const { instructions, loops } = readInstructions(
    [
      "        /*0000*/                   MOV R1, c[0x0][0x28] ;",
      ".L_x_0:",
      "        /*0010*/              @!P0 LDG.E.128 R4, [R2.64] ;",
      "        /*0020*/               @P0 BRA `(.L_x_0) ;",
      ".L_x_1:",
      "        /*0030*/                   BRA `(.L_x_1);",
    ].join("\n"),
  );
  assertEquals(instructions.map(({ opcode }) => opcode), ["MOV", "LDG.E.128", "BRA", "BRA"]);
  assertEquals(loops.map((loop) => loop.map(({ opcode }) => opcode)), [["LDG.E.128", "BRA"]]);
});
