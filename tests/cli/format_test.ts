// Tables that are wider than their output.

import { assertEquals } from "@std/assert";
import { textTable } from "../../src/cli/format.ts";

const CUBLASLT = "/usr/local/cuda/lib64/libcublasLt.so.13.1.0.3";

Deno.test("`textTable()` wraps the last column first, then the others, between words", () => {
  const ability = "host device: kernels from source, tensors";
  const rows = [[ability, "yes", "the host library, /usr/bin/g++ and more words"]];
  assertEquals(textTable(["what", "works", "by"], rows).split("\n").slice(1), [
    "─────────────────────────────────────────  ─────  ──────────────────────────────",
    "host device: kernels from source, tensors  yes    the host library, /usr/bin/g++",
    "                                                  and more words",
  ]);
  const squeezed = textTable(["what", "works", "by"], [[ability, "yes", `driver, ${CUBLASLT}`]]);
  assertEquals(squeezed.split("\n").slice(1), [
    "──────────────────────────  ─────  ─────────────────────────────────────────────",
    "host device: kernels from   yes    driver,",
    `source, tensors                    ${CUBLASLT}`,
  ]);
});

Deno.test("`textTable()` keeps longer words whole, and the line under its header in the width", () => {
  const path = `/tmp${"/directory".repeat(6)}/g++`;
  const long = textTable(["what", "by"], [["kernels from source", `the library, ${path}`]]);
  assertEquals(long.split("\n").slice(1), [
    `${"─".repeat(19)}  ${"─".repeat(59)}`,
    "kernels from source  the library,",
    `                     ${path}`,
  ]);
  const numbers = textTable(["n".repeat(50), "m".repeat(50)], [["1", "2"]], ">>");
  assertEquals(numbers.split("\n").slice(1).map((line) => line.length), [80, 102]);
});
