// nvcc as a compiler: machine code, names, resources and errors are those of NVRTC, whatever the
// source is called. Skipped, saying so, where there is no nvcc.

import "../../support/cache_directory.ts";
import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { CompilerUnavailableError } from "../../../src/launch/compile/compiler_unavailable_error.ts";
import { NvccCompiler } from "../../../src/launch/compile/nvcc_compiler.ts";

async function findNvcc(variables: Readonly<Record<string, string>> = {}) {
  try {
    return await NvccCompiler.find((name) => variables[name] ?? Deno.env.get(name));
  } catch (error) {
    if (!(error instanceof CompilerUnavailableError)) throw error;
    console.log(`not tested: ${error.message}`);
    return undefined;
  }
}

const nvcc = await findNvcc();
const ignore = nvcc === undefined;

function request(source: string, changes: Partial<CompileRequest> = {}): CompileRequest {
  return {
    source,
    name: "test.cu",
    headers: new Map(),
    defines: new Map(),
    options: [],
    expressions: [],
    target: { kind: "cuda", capability: "9.0" },
    ...changes,
  };
}

Deno.test(
  { name: "nvcc makes machine code, and says its names and resources", ignore },
  async () => {
    const source = `#include "own.h"
    namespace n { template <typename T> __global__ void twice(T* x) { x[0] += x[0]; } }
    __constant__ float table[FACTORS];
    extern "C" __global__ void plain(float* x) { x[0] = table[1]; }`;
    const expressions = ["n::twice<double>", "plain", "&table"];
    const { format, image, loweredNames, resources, log } = await nvcc!.compile(request(source, {
      headers: new Map([["own.h", "#define FACTORS WIDTH\n"]]),
      defines: new Map([["WIDTH", "4"]]),
      expressions,
    }));
    assertEquals([format, log], ["cubin", ""]);
    assertEquals([...image.subarray(0, 4)], [0x7f, 0x45, 0x4c, 0x46]);
    assertEquals([...loweredNames.keys()], expressions);
    const lowered = loweredNames.get("n::twice<double>")!;
    assertMatch(lowered, /^_Z.*twice/);
    assertEquals([loweredNames.get("plain"), loweredNames.get("&table")], ["plain", "table"]);
    for (const name of [lowered, "plain"]) assert(resources.get(name)!.registers > 0, name);
  },
);

Deno.test({ name: "a source may be called anything, and errors call it so", ignore }, async () => {
  for (const name of ["headers", "kernels.ptx", "-v"]) {
    const error = await assertRejects(
      () => nvcc!.compile(request("\n__global__ void k(int* x) { x[0] = missing; }", { name })),
      CompileError,
    );
    const [{ file, line, message, text }] = error.diagnostics as [typeof error.diagnostics[0]];
    assertEquals([file, line], [name, 2]);
    assertMatch(message, /"missing" is undefined/);
    assertEquals(text, "__global__ void k(int* x) { x[0] = missing; }");
  }
});

Deno.test({ name: "what nvcc is to make is not the program's choice", ignore }, async () => {
  for (const option of ["-o", "--ptx", "-c", "--keep-dir=x"]) {
    await assertRejects(
      () => nvcc!.compile(request("", { options: [option] })),
      TypeError,
      `the option ${option}`,
    );
  }
});

Deno.test(
  { name: "options that the environment adds are part of what nvcc is", ignore },
  async () => {
    const plain = await nvcc!.identity(request(""));
    assertEquals(await (await findNvcc())!.identity(request("")), plain);
    for (const name of ["NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "CPATH"]) {
      assertNotEquals(
        await (await findNvcc({ [name]: "-O1" }))!.identity(request("")),
        plain,
        name,
      );
    }
  },
);
