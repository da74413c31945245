import { assertEquals } from "@std/assert";
import { findProgram } from "../../../src/ffi/build/programs.ts";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import { grantedEnvironment } from "../../../src/ffi/granted_environment.ts";
import type { Compiler, CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import { nvrtc } from "../../support/nvrtc.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const { path, build } = openLibrary("host");

function host(name: string): HostCompiler | undefined {
  if (findProgram(name, grantedEnvironment) === undefined) return undefined;
  const environment = (variable: string) =>
    variable === "CXX" ? name : grantedEnvironment(variable);
  return new HostCompiler({ path, build }, environment);
}

const compilers: readonly (readonly [string, Compiler | undefined])[] = [
  ["g++", host("g++")],
  ["clang++", host("clang++")],
  ["NVRTC", nvrtc],
];

/** A source with something before its kernel. */
function request(
  kind: "cuda" | "host",
  head: string,
  changes: Partial<CompileRequest>,
): CompileRequest {
  return {
    source: `${head}\nextern "C" __global__ void k(int* x) { x[0] = VALUE; }\n`,
    name: "test.cu",
    headers: new Map(),
    defines: new Map(),
    options: [],
    expressions: ["k"],
    target: { kind, capability: "9.0" },
    ...changes,
  };
}

for (const [name, compiler] of compilers) {
  const kind = name.endsWith("++") ? "host" : "cuda";
  Deno.test({
    name: `${name}: compile() reports files that the key of the cache does not cover`,
    ignore: compiler === undefined,
  }, async () => {
    using folder = new TemporaryDirectory();
    const file = `${folder.path}/value.h`;
    Deno.writeTextFileSync(file, "#define VALUE 1\n");
    const compile = async (head: string, changes: Partial<CompileRequest> = {}) => {
      const { untracked = [] } = await compiler!.compile(request(kind, head, changes));
      return untracked.length > 0;
    };
    const headers = new Map([["own.h", "#define VALUE 2\n"]]);
    const options = [`-I${folder.path}`];
    const isUntracked = {
      literal: await compile(`#include "${file}"`),
      searched: await compile("#include <value.h>", { options }),
      own: await compile('#define H "own.h"\n#include H', { headers }),
      comment: await compile(`#include/**/"${file}"`),
      macro: await compile(`#define H "${file}"\n#include H`),
      define: await compile("#include H", { defines: new Map([["H", `"${file}"`]]) }),
    };
    // A plain #include line is part of the identity.
    assertEquals(isUntracked, {
      literal: false,
      searched: false,
      own: false,
      comment: true,
      macro: true,
      define: true,
    });
  });
}
