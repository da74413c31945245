// Builds and runs the C++ programs of this folder that need no GPU. GRIDSTRIDE_NATIVE_TESTS_COMPILER names another
// compiler than the libraries are built with; where CI is set, a warning in a program is an error.
// Needs no GPU: it compiles, and runs on the host device.

import { assertEquals } from "@std/assert";
import { findCudaCompiler } from "../../src/ffi/build/compilers.ts";
import { builtLibrary } from "../support/built_library.ts";
import { NativeBuild, nativeTestFiles } from "./native_build.ts";
import {
  EXECUTION,
  KERNELS,
  LANGUAGE,
  LANGUAGE_NAMES,
  LANGUAGE_NAMES_CUDA,
  LATE_KERNELS,
  MODULES,
  NATIVE_PROGRAMS,
  type NativeProgram,
  RUNTIME,
  SHIM,
  SHIM_LIBRARY,
  SHIM_MODULE,
  TABLES,
} from "./native_programs.ts";
import { runTestProgram } from "./program_report.ts";

const compiler = Deno.env.get("GRIDSTRIDE_NATIVE_TESTS_COMPILER");
const warningsAsErrors = (Deno.env.get("CI") ?? "") !== "";

let opened: Promise<NativeBuild> | undefined;

function hostBuild(): Promise<NativeBuild> {
  return opened ??= NativeBuild.open("host", {
    warningsAsErrors,
    ...(compiler === undefined || compiler === "" ? {} : { compiler }),
  });
}

/** nvcc with its own C++ compiler: it takes fewer of them than the host device does. */
function cudaBuild(): Promise<NativeBuild> {
  return NativeBuild.open("cuda", { warningsAsErrors });
}

/** What changes the host device, and is not for a program that sets up its own. */
const HOST_DEVICE_VARIABLES = [
  "CUDA_VISIBLE_DEVICES",
  "CUDA_DEVICE_ORDER",
  "CUDA_LAUNCH_BLOCKING",
  "GRIDSTRIDE_HOST_THREADS",
];

/** A test that builds a program for the host device and runs it, given libraries as arguments. */
function testOnHost(name: string, program: NativeProgram, ...libraries: NativeProgram[]): void {
  Deno.test(name, async () => {
    const build = await hostBuild();
    const path = await build.program(program);
    const args: string[] = [];
    for (const library of libraries) args.push(await build.program(library));
    await runTestProgram(path, { args, without: HOST_DEVICE_VARIABLES });
  });
}

testOnHost("execution engine of the host device", EXECUTION, LATE_KERNELS);

Deno.test("execution engine of the host device with 16 workers", async () => {
  const build = await hostBuild();
  const args = [await build.program(LATE_KERNELS)];
  await runTestProgram(await build.program(EXECUTION), {
    args,
    without: HOST_DEVICE_VARIABLES,
    environment: { GRIDSTRIDE_HOST_THREADS: "16" },
  });
});

testOnHost("CUDA runtime of the host device", RUNTIME, ...MODULES);
testOnHost("kernel language of the host device", LANGUAGE);
testOnHost("built-in kernels on the host device", KERNELS);
testOnHost("tables of handles and mappings", TABLES);
testOnHost(
  "ABI of the host library, with kernels for every type of argument and a module",
  SHIM,
  SHIM_LIBRARY,
  SHIM_MODULE,
);

Deno.test("ABI of the host library", async () => {
  const build = await hostBuild();
  const args = [await build.library()];
  await runTestProgram(await build.program(SHIM), { args, without: HOST_DEVICE_VARIABLES });
});

Deno.test("names of the kernel language compile for the host device", async () => {
  await (await hostBuild()).program(LANGUAGE_NAMES);
});

const { compiler: nvcc } = await findCudaCompiler((name) => Deno.env.get(name));
const withoutNvcc = nvcc === undefined ? " (skipped: no nvcc)" : "";

Deno.test({
  name: `names of the kernel language compile as CUDA's${withoutNvcc}`,
  ignore: withoutNvcc !== "",
  fn: async () => {
    await (await cudaBuild()).program(LANGUAGE_NAMES_CUDA);
  },
});

const cudaLibrary = builtLibrary("cuda");
const withoutLibrary = cudaLibrary === undefined ? " (skipped: it is not built)" : "";

// Without a driver: every function answers with a status and none crashes.
Deno.test({
  name: `ABI of the CUDA library${withoutLibrary}`,
  ignore: withoutLibrary !== "",
  fn: async () => {
    const path = await (await hostBuild()).program(SHIM);
    await runTestProgram(path, { args: [cudaLibrary!] });
  },
});

/** What `float8_test.ts` compiles twice, with two sets of headers. */
const COMPILED_BY_ITSELF = "tests/native/float8_values.cpp";

Deno.test("every C++ file of this folder is part of a program", () => {
  const unused = nativeTestFiles()
    .filter((file) => file !== COMPILED_BY_ITSELF)
    .filter((file) => !NATIVE_PROGRAMS.some(({ sources }) => sources.test(file)));
  assertEquals(unused, []);
});
