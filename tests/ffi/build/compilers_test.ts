// Needs no GPU: it looks for compilers.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { BuildError } from "../../../src/ffi/build/build_error.ts";
import {
  coversLevel3,
  findCppCompiler,
  findCudaCompiler,
  presentCapabilities,
} from "../../../src/ffi/build/compilers.ts";

import { BuildFixture } from "./build_fixture.ts";

/** A compiler that only prints its version. */
function fakeCompiler(fixture: BuildFixture, name: string, says: string): string {
  return fixture.write(`bin/${name}`, `#!/bin/sh\necho '${says}'\n`, 0o755);
}

Deno.test("`findCppCompiler()` prefers the option, then CXX, then PATH in order", async () => {
  using fixture = new BuildFixture();
  const { variables } = fixture;
  const environment = (name: string) => variables[name];
  variables["PATH"] = fixture.path("bin");
  fakeCompiler(fixture, "c++", "Apple clang version 3");
  assertEquals((await findCppCompiler(undefined, environment)).version, "Apple clang version 3");
  fakeCompiler(fixture, "clang++", "clang version 2");
  assertEquals((await findCppCompiler(undefined, environment)).version, "clang version 2");
  const gcc = fakeCompiler(fixture, "g++", "Free Software Foundation 1");
  const first = await findCppCompiler(undefined, environment);
  assertEquals([first.command, first.family], [[gcc], "gcc"]);
  variables["CXX"] = "clang++";
  assertEquals((await findCppCompiler(undefined, environment)).family, "clang");
  assertEquals((await findCppCompiler(gcc, environment)).family, "gcc");
  const wrapper = fakeCompiler(fixture, "ccache", "clang version 4");
  variables["CXX"] = " ccache  g++ ";
  assertEquals((await findCppCompiler(undefined, environment)).command, [wrapper, "g++"]);
});

Deno.test("`findCppCompiler()` throws when a named compiler is missing or unknown", async () => {
  using fixture = new BuildFixture();
  const environment = (name: string) => fixture.variables[name];
  const missing = await assertRejects(() => findCppCompiler("g++-99", environment), BuildError);
  assertEquals(missing.message, 'Cannot find the C++ compiler "g++-99" that --compiler names');
  assertEquals(missing.exitCode, 2);
  fixture.variables["CXX"] = fakeCompiler(fixture, "tcc", "tcc version 0.9.27");
  const other = await assertRejects(() => findCppCompiler(undefined, environment), BuildError);
  assertStringIncludes(other.message, "(from CXX) as it must be g++ or clang++");
  assertStringIncludes(other.message, "tcc version 0.9.27");
});

Deno.test("`findCudaCompiler()` searches CUDA_HOME, CUDA_PATH, PATH and the toolkit's directory", async () => {
  using fixture = new BuildFixture();
  const toolkit = fixture.fakeToolkit();
  const nowhere = fixture.path("nowhere");
  const search = (variables: Record<string, string>, place = nowhere) =>
    findCudaCompiler((name) => ({ PATH: nowhere, ...variables })[name], place);
  const places: [Record<string, string>, string, number][] = [
    [{ CUDA_HOME: toolkit, CUDA_PATH: nowhere }, nowhere, 0],
    [{ CUDA_PATH: toolkit }, nowhere, 0],
    [{ CUDA_HOME: nowhere, CUDA_PATH: toolkit }, nowhere, 1],
    [{ PATH: `${nowhere}:${toolkit}/bin` }, nowhere, 0],
    [{ CUDA_HOME: nowhere }, toolkit, 1],
  ];
  for (const [variables, place, notes] of places) {
    const found = await search(variables, place);
    assert(found.compiler !== undefined, JSON.stringify(variables));
    assertEquals(found.compiler.path, `${toolkit}/bin/nvcc`);
    assertEquals([found.compiler.version, found.notes.length], ["13.0.88", notes]);
    assertEquals(found.compiler.supported, [75, 80, 90, 120]);
  }
  const none = await search({ CUDA_HOME: nowhere });
  assert(none.compiler === undefined);
  assertEquals(none.tried, [
    `CUDA_HOME (no ${nowhere}/bin/nvcc)`,
    "CUDA_PATH (not set)",
    "PATH",
    nowhere,
  ]);
});

Deno.test("`presentCapabilities()` reads nvidia-smi, and is empty when it fails", async () => {
  using fixture = new BuildFixture();
  const environment = () => fixture.path("smi");
  const report = (text: string, status: number) =>
    fixture.write("smi/nvidia-smi", `#!/bin/sh\nprintf '${text}'\nexit ${status}\n`, 0o755);
  report("9.0\\n8.9\\n9.0\\n12.0\\n", 0);
  assertEquals(await presentCapabilities(environment), [89, 90, 120]);
  report("NVIDIA-SMI has failed\\n", 9);
  assertEquals(await presentCapabilities(environment), []);
  report("[N/A]\\n", 0);
  assertEquals(await presentCapabilities(environment), []);
});

Deno.test("`coversLevel3()` is true only when a processor has all features of x86-64-v3", () => {
  const features = "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave";
  const cpuinfo = `processor : 0\nflags\t\t: fpu ${features}\nflags : c\n`;
  assert(coversLevel3(cpuinfo, "linux"));
  for (const missing of features.split(" ")) {
    assert(!coversLevel3(cpuinfo.replace(new RegExp(`\\b${missing}\\b`), ""), "linux"), missing);
  }
  assert(!coversLevel3("", "linux"));
  assert(!coversLevel3("Features : asimd\n", "linux"));
  assert(coversLevel3("AVX1.0 AVX2 BMI1 BMI2 F16C FMA LZCNT MOVBE XSAVE", "darwin"));
});
