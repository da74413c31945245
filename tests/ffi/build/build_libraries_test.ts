// Needs no GPU: it compiles.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { BuildError } from "../../../src/ffi/build/build_error.ts";
import type { BuildReport, BuiltLibrary } from "../../../src/ffi/build/build_options.ts";
import { runProgram } from "../../../src/ffi/build/programs.ts";
import { libraryFileName } from "../../../src/ffi/locate.ts";
import { BuildFixture } from "./build_fixture.ts";

function only(report: BuildReport): BuiltLibrary {
  assertEquals(report.libraries.length, 1);
  return report.libraries[0]!;
}

/** Loads a library in another process: its name in the loader is that of the real one. */
async function load(path: string): Promise<{ version: number; record: string; hidden: string }> {
  const program = `
    const open = (symbols) => Deno.dlopen(${JSON.stringify(path)}, symbols).symbols;
    const { gs_abi_version, gs_build_record } = open({
      gs_abi_version: { parameters: [], result: "i32" },
      gs_build_record: { parameters: [], result: "pointer" },
    });
    const record = Deno.UnsafePointerView.getCString(gs_build_record());
    let hidden = "";
    try {
      open({ not_of_the_seam: { parameters: [], result: "i32" } });
    } catch (error) {
      hidden = error.message;
    }
    console.log(JSON.stringify({ version: gs_abi_version(), record, hidden }));`;
  const { code, stdout, stderr } = await runProgram([Deno.execPath()], ["eval", program]);
  assertEquals(code, 0, stderr);
  return JSON.parse(stdout);
}

Deno.test("`build()` makes a library that reports its build record and exports only gs_*", async () => {
  using fixture = new BuildFixture();
  const report = await fixture.build();
  const library = only(report);
  assertEquals(report.directory, fixture.path("build"));
  assert(report.found);
  assertEquals(library.path, fixture.path(`build/${libraryFileName("host")}`));
  assertEquals([library.upToDate, library.compiled, library.reused], [false, 3, 0]);
  const { version, record, hidden } = await load(library.path);
  const { compiler, architectures, sourceHash, flags } = library;
  assertEquals(version, 1);
  assertEquals(record.split("|"), [compiler, architectures, sourceHash, flags]);
  assertStringIncludes(hidden, "not_of_the_seam");
  assertMatch(sourceHash, /^[0-9a-f]{64}$/);
  assert(!flags.includes(fixture.directory), flags);
});

Deno.test("`build()` writes one line of progress for each file", async () => {
  using fixture = new BuildFixture();
  await fixture.build();
  assertEquals(fixture.progress.length, 4);
  fixture.progress.forEach((line, index) => {
    assertMatch(line, new RegExp(`^host \\[${index + 1}/4\\] \\S+  \\d+\\.\\d s$`));
  });
  assertEquals(fixture.warnings, []);
});

Deno.test("`build()` compiles again exactly the sources that a change affects", async () => {
  using fixture = new BuildFixture();
  const first = only(await fixture.build());
  const unchanged = only(await fixture.build());
  assert(unchanged.upToDate);
  // The build record is compiled into abi.cu, so a change anywhere concerns that one too.
  fixture.append("csrc/host/pool.cpp", "int more() { return 5; }\n");
  const changed = only(await fixture.build());
  assertEquals([changed.upToDate, changed.compiled, changed.reused], [false, 2, 1]);
  assertNotEquals(changed.sourceHash, first.sourceHash);
  fixture.append("csrc/gridstride.h", "#define MORE 1\n");
  assertEquals(only(await fixture.build()).compiled, 3);
  assertEquals(only(await fixture.build({ debug: true })).compiled, 3);
  assertEquals(only(await fixture.build()).compiled, 0);
  assertEquals(only(await fixture.build({ force: true })).compiled, 3);
});

Deno.test("`build()` replaces a library that is missing or damaged", async () => {
  using fixture = new BuildFixture();
  const { path } = only(await fixture.build());
  const whole = Deno.readFileSync(path);
  const damages = [
    () => Deno.removeSync(path),
    () => Deno.truncateSync(path, 100),
    () => Deno.writeTextFileSync(path, "no library"),
    () => Deno.writeTextFileSync(`${path}.json`, "{"),
  ];
  for (const damage of damages) {
    damage();
    const library = only(await fixture.build());
    assertEquals([library.upToDate, library.compiled, library.reused], [false, 0, 3]);
    assertEquals(Deno.readFileSync(path), whole);
  }
});

Deno.test("`build()` fails with the compiler's output and keeps the old library", async () => {
  using fixture = new BuildFixture();
  const { path } = only(await fixture.build());
  const before = Deno.readFileSync(path);
  fixture.append("csrc/host/pool.cpp", "int broken() { return undeclared_name; }\n");
  const error = await assertRejects(() => fixture.build(), BuildError);
  assertEquals(error.exitCode, 1);
  assertStringIncludes(error.message, "Cannot build the host library with ");
  assertStringIncludes(error.message, "undeclared_name");
  assertStringIncludes(error.message, "-c csrc/host/pool.cpp");
  assertEquals(Deno.readFileSync(path), before);
  const left = [...Deno.readDirSync(fixture.path("build/objects/host"))]
    .filter(({ name }) => name.startsWith("."));
  assertEquals(left, []);
});

Deno.test("`build()` fails when the library does not link", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  using fixture = new BuildFixture();
  fixture.append("csrc/host/pool.cpp", "int absent();\nint use() { return absent(); }\n");
  await assertRejects(() => fixture.build(), BuildError, "Cannot link the host library");
});

Deno.test("`build()` reports a compiler warning, and fails with `warningsAsErrors`", async () => {
  using fixture = new BuildFixture();
  fixture.append("csrc/host/pool.cpp", "void warn(int unused_parameter) {}\n");
  assertEquals(only(await fixture.build()).compiled, 3);
  assertStringIncludes(fixture.warnings.join("\n"), "unused_parameter");
  await assertRejects(() => fixture.build({ warningsAsErrors: true }), BuildError, "unused_par");
});

Deno.test("`build()` waits when another build uses the directory", async () => {
  using fixture = new BuildFixture();
  const reports = await Promise.all([fixture.build(), fixture.build(), fixture.build()]);
  const compiled = reports.map((report) => only(report).compiled).sort();
  assertEquals(compiled, [0, 0, 3]);
  const waits = fixture.progress.filter((line) => line.startsWith("waiting for another build"));
  assertEquals(waits.length, 2);
});

Deno.test("`build()` passes nvcc the architectures, the record and the C++ compiler", async () => {
  using fixture = new BuildFixture();
  fixture.variables["CUDA_HOME"] = fixture.fakeToolkit();
  fixture.variables["CUDA_ARCH"] = "9.0;7.5";
  const library = only(await fixture.build({ target: "cuda", warningsAsErrors: true }));
  assertEquals(library.architectures, "sm_75 sm_90 compute_90");
  assertStringIncludes(library.compiler, "nvcc 13.0.88 with ");
  const calls = Deno.readTextFileSync(fixture.path("nvcc.log")).trimEnd().split("\n");
  assertEquals(calls.length, 3);
  const compilations = calls.filter((call) => call.includes(" -c csrc/"));
  assertEquals(compilations.length, 2);
  for (const call of compilations) {
    assertStringIncludes(call, "-gencode arch=compute_75,code=sm_75");
    assertStringIncludes(call, "-gencode arch=compute_90,code=compute_90");
    assertStringIncludes(call, "-Werror=all-warnings");
    assertStringIncludes(call, "-ccbin /");
    assert(!/fast.?math/.test(call), call);
    assertEquals(call.includes("-include "), call.includes("csrc/shim/abi.cu"));
  }
  assertStringIncludes(calls.find((call) => call.startsWith("-shared"))!, "-cudart=static");
  assertEquals(
    only(await fixture.build({ target: "cuda", warningsAsErrors: true })).upToDate,
    true,
  );
  const others = only(
    await fixture.build({ target: "cuda", warningsAsErrors: true, architectures: "80" }),
  );
  assertEquals([others.compiled, others.architectures], [2, "sm_80 compute_80"]);
});

Deno.test("`build()` builds each library whatever becomes of the other", async () => {
  using fixture = new BuildFixture();
  fixture.variables["CUDA_HOME"] = fixture.fakeToolkit();
  fixture.variables["CUDA_ARCH"] = "80";
  const file = (kind: "cuda" | "host") => fixture.path(`build/${libraryFileName(kind)}`);
  const isThere = (path: string) => Deno.statSync(path).isFile;
  const sound = Deno.readTextFileSync(fixture.path("csrc/host/pool.cpp"));
  fixture.append("csrc/host/pool.cpp", "int broken() { return undeclared_name; }\n");
  const host = await assertRejects(() => fixture.build({ target: "all" }), BuildError);
  assertStringIncludes(host.message, "Cannot build the host library with ");
  assertStringIncludes(host.message, `The cuda library was built: ${file("cuda")}`);
  assertEquals([host.exitCode, isThere(file("cuda"))], [1, true]);
  fixture.write("csrc/host/pool.cpp", sound);
  Deno.removeSync(file("cuda"));
  const toolkit = fixture.write("broken/bin/nvcc", "#!/bin/sh\nexit 1\n", 0o755);
  fixture.variables["CUDA_HOME"] = fixture.path("broken");
  const cuda = await assertRejects(() => fixture.build({ target: "all" }), BuildError);
  assertStringIncludes(cuda.message, `Cannot use ${toolkit} as `);
  assertStringIncludes(cuda.message, `The host library was built: ${file("host")}`);
  assertEquals([cuda.exitCode, isThere(file("host"))], [1, true]);
});

Deno.test("`build()` names both libraries when neither compiles", async () => {
  using fixture = new BuildFixture();
  fixture.variables["CUDA_HOME"] = fixture.fakeToolkit();
  fixture.append("csrc/shim/abi.cu", "int broken() { return undeclared_name; }\n");
  const { message } = await assertRejects(() => fixture.build({ target: "all" }), BuildError);
  assertStringIncludes(message, "Cannot build the host library with ");
  assertStringIncludes(message, "Cannot build the cuda library with nvcc ");
});

Deno.test("`build()` throws when CUDA_ARCH is malformed, also without nvcc", async () => {
  using fixture = new BuildFixture();
  fixture.variables["CUDA_ARCH"] = "sm_x";
  const error = await assertRejects(() => fixture.build(), BuildError, 'it is "sm_x"');
  assertStringIncludes(error.message, "CUDA_ARCH");
  assertEquals(error.exitCode, 2);
});

Deno.test("`build()` names the packages to install when there is no C++ compiler", async () => {
  using fixture = new BuildFixture();
  fixture.variables["PATH"] = fixture.path("nowhere");
  const error = await assertRejects(() => fixture.build(), BuildError);
  assertStringIncludes(error.message, "Cannot find a C++17 compiler");
  assertMatch(error.message, /Install one with `/);
});

Deno.test("`build()` reports `found` as false when an output is given", async () => {
  using fixture = new BuildFixture();
  const report = await fixture.build({ output: fixture.path("else where") });
  assertEquals([report.directory, report.found], [fixture.path("else where"), false]);
  assertStringIncludes(only(report).path, "else where");
});

Deno.test("`build()` throws when jobs is not allowed", async () => {
  using fixture = new BuildFixture();
  for (const jobs of [0, -1, 1.5, NaN, Infinity, 2 ** 53]) {
    await assertRejects(() => fixture.build({ jobs }), BuildError, `it is ${jobs}`);
  }
});

Deno.test("`build()` names the missing permission and its flag", {
  permissions: { read: true, write: true, env: true, sys: true, run: false },
}, async () => {
  using fixture = new BuildFixture();
  const error = await assertRejects(() => fixture.build(), BuildError, "--allow-run");
  assertStringIncludes(error.message, "Cannot build as a permission is missing: Requires run");
  assertEquals(error.exitCode, 2);
});
