// What nvcc, its preprocessor and its front end say is told as NVRTC's errors are; and nvcc is started
// only where that is permitted.

import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { CompilerUnavailableError } from "../../../src/launch/compile/compiler_unavailable_error.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { NvccCompiler } from "../../../src/launch/compile/nvcc_compiler.ts";
import { request } from "../../support/nvrtc.ts";
import { runProgram } from "../../support/subprocess.ts";

async function present(): Promise<NvccCompiler | undefined> {
  try {
    return await NvccCompiler.find();
  } catch (error) {
    if (error instanceof CompilerUnavailableError) return undefined;
    throw error;
  }
}

const nvcc = await present();

function nvccTest(name: string, fn: () => Promise<void>): void {
  const absent = nvcc === undefined ? " (skipped: no nvcc)" : "";
  Deno.test({ name: `${name}${absent}`, ignore: nvcc === undefined, fn });
}

function compile(source: string, rest: Partial<CompileRequest> = {}) {
  return nvcc!.compile(request(source, rest));
}

nvccTest("errors of its preprocessor, its front end and about names are told alike", async () => {
  for (
    const [source, expected] of [
      ['int x;\n#include "absent.h"\n', "kernel.cu:2:10: error: absent.h: No such file"],
      ["__global__ void k(int* x) {\n\tyy[0] = 1;\n}\n", 'kernel.cu:2:2: error: identifier "yy"'],
      ["__global__ void k(int* x) {\n", '\nkernel.cu:1:27: error: expected a "}" to match'],
      ["__global__ void other() {}", 'error: in the expression k: identifier "k" is undefined'],
    ] as const
  ) {
    const error = await assertRejects(() => compile(source, { expressions: ["k"] }), CompileError);
    assertStringIncludes(error.message, `Cannot compile kernel.cu with ${nvcc!.label}:\n`);
    assertStringIncludes(error.message, expected);
  }
});

nvccTest(
  "a virtual architecture gets PTX, headers find each other, all in their folder",
  async () => {
    const target = { kind: "cuda", capability: "99.0" } as const;
    const headers = new Map([["d/size.h", '#include "one.h"\n'], ["d/one.h", "#define SIZE 1\n"]]);
    const source = '#include "d/size.h"\n__global__ void k(int* x) { *x = SIZE; }';
    const { format, image } = await compile(source, { target, headers });
    assertEquals(format, "ptx");
    assertStringIncludes(new TextDecoder().decode(image), ".visible .entry _Z1kPi");
    for (const name of ["../out.h", "/out.h", "", "a/../../b.h"]) {
      const foul = new Map([[name, ""]]);
      await assertRejects(
        () => compile("", { headers: foul }),
        RangeError,
        "must be relative paths",
        name,
      );
    }
  },
);

nvccTest("without permission the error names the flag", async () => {
  const module = import.meta.resolve("../../../src/launch/compile/nvcc_compiler.ts");
  const program = `
    import { NvccCompiler } from "${module}";
    await NvccCompiler.find().catch((error) => console.log(error.name, error.message));
  `;
  const blind = await runProgram(program, { permissions: ["--allow-env"] });
  assertMatch(
    blind.stdout,
    /^CompilerUnavailableError .*not looked at: run again with --allow-read/,
  );
  const cache = await Deno.makeTempDir();
  try {
    const reading = await runProgram(program, {
      permissions: ["--allow-env", "--allow-read"],
      environment: { GRIDSTRIDE_CACHE_DIR: cache },
    });
    assertMatch(
      reading.stdout,
      /^CompilerUnavailableError .*not permitted: run again with --allow-run=\//,
    );
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
});
