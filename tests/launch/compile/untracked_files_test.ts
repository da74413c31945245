import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { findProgram } from "../../../src/ffi/build/programs.ts";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import { grantedEnvironment } from "../../../src/ffi/granted_environment.ts";
import { CompilerUnavailableError } from "../../../src/launch/compile/compile_error.ts";
import type { Compiler, CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import { includedFiles } from "../../../src/launch/compile/host_options.ts";
import { nvrtc } from "../../support/nvrtc.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { request } from "./host_request.ts";

const library = openLibrary("host");

function host(name: string): HostCompiler | undefined {
  if (findProgram(name, grantedEnvironment) === undefined) return undefined;
  const environment = (variable: string) =>
    variable === "CXX" ? name : grantedEnvironment(variable);
  return new HostCompiler(library, environment);
}

const compilers: readonly (readonly [string, Compiler | undefined])[] = [
  ["g++", host("g++")],
  ["clang++", host("clang++")],
  ["NVRTC", nvrtc],
];

for (const [name, compiler] of compilers) {
  Deno.test({
    name: `${name}: compile() reports files that the key of the cache does not cover`,
    ignore: compiler === undefined,
  }, async () => {
    using folder = new TemporaryDirectory();
    const file = `${folder.path}/value.h`;
    Deno.writeTextFileSync(file, "#define VALUE 1\n");
    const compile = async (head: string, changes: Partial<CompileRequest> = {}) => {
      const { untracked = [] } = await compiler!.compile(
        request(`${head}\nextern "C" __global__ void k(int* x) { x[0] = VALUE; }\n`, {
          expressions: ["k"],
          target: { kind: name.endsWith("++") ? "host" : "cuda", capability: "9.0" },
          ...changes,
        }),
      );
      return untracked.length > 0;
    };
    const headers = new Map([["own.h", "#define VALUE 2\n"]]);
    const options = [`-I${folder.path}`];
    // A plain #include line is part of the identity.
    assertEquals(await compile(`#include "${file}"`), false);
    assertEquals(await compile("#include <value.h>", { options }), false);
    assertEquals(await compile('#include "own.h"', { headers }), false);
    assertEquals(await compile(`#include/**/"${file}"`), true);
    assertEquals(await compile(`#define H "${file}"\n#include H`), true);
    const defines = new Map([["H", `"${file}"`]]);
    assertEquals(await compile("#include H", { defines }), true);
  });
}

Deno.test({
  name: "includedFiles() refuses each option for a file that may not be read",
  permissions: { read: false },
}, () => {
  const folder = ["-I", "-iquote", "-isystem", "-idirafter"];
  const header = ["-include", "-imacros"];
  for (const option of [...folder, ...header]) {
    const error = assertThrows(
      () => includedFiles(request("", { options: [option, "/home/ada/secret"] })),
      CompilerUnavailableError,
    );
    assertStringIncludes(error.message, "run again with --allow-read=/home/ada/secret");
  }
});
