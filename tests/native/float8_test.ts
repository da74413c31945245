// The 8-bit floating-point types of the host device against CUDA's own: what its header does on hosts
// is the reference, bit for bit. Skipped, saying so, without a toolkit.
// Needs no GPU: it compiles, and runs on the host device.

import { assert, assertEquals } from "@std/assert";
import { findCppCompiler } from "../../src/ffi/build/compilers.ts";
import { runProgram } from "../../src/ffi/build/programs.ts";
import { toolkitHeaders } from "../support/cuda_toolkit.ts";
import { repositoryPath } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const SOURCE = repositoryPath("tests/native/float8_values.cpp");
const toolkit = toolkitHeaders("cuda_fp8.hpp");

/** What the program prints when it is compiled with the headers of a directory. */
async function valuesOf(include: string, folder: string, warnings: string): Promise<Uint8Array> {
  const { command } = await findCppCompiler(undefined, (name) => Deno.env.get(name));
  const program = `${folder}/values`;
  const { success, stderr } = await runProgram(
    command,
    ["-std=c++17", "-O1", ...warnings.split(" "), `-I${include}`, SOURCE, "-o", program],
  );
  assert(success, stderr);
  return (await new Deno.Command(program, { stdout: "piped" }).output()).stdout;
}

Deno.test({
  name: `cuda_fp8.h converts as CUDA's header does${
    toolkit === undefined ? " (skipped: no cuda_fp8.hpp)" : ""
  }`,
  ignore: toolkit === undefined,
}, async () => {
  using folder = new TemporaryDirectory();
  const expected = await valuesOf(toolkit!, folder.path, "-w");
  const own = repositoryPath("csrc/host/include");
  const actual = await valuesOf(own, folder.path, "-Wall -Wextra -Werror");
  assert(expected.length > 10_000_000, `there are only ${expected.length} bytes`);
  assertEquals(actual.length, expected.length);
  assertEquals(actual.findIndex((byte, index) => byte !== expected[index]), -1);
});
