// NVRTC in the native library: opening, compiling, refusals, and use by several threads at once.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { CudaError } from "../../src/ffi/cuda_error.ts";
import { CUDA_ERROR_CODES } from "../../src/ffi/error_codes.ts";
import { injectFault } from "../support/fault_injection.ts";
import { compileNvrtc, nvrtcArchitectures, openNvrtc } from "../../src/ffi/native_nvrtc.ts";
import { readText } from "../../src/ffi/check.ts";
import { installation, library, withoutNvrtc } from "../support/nvrtc.ts";
import { runProgram } from "../support/subprocess.ts";

const { symbols, result } = library;
const HANDLE = -2;
const ARGUMENT = -1;
const NOT_FOUND = -9;

function nvrtcTest(name: string, fn: () => void | Promise<void>): void {
  Deno.test({ name: `${name}${withoutNvrtc}`, ignore: installation === undefined, fn });
}

function program(source: string, options: readonly string[] = ["-arch=compute_80"]) {
  return {
    source,
    name: "kernel.cu",
    options,
    headers: new Map<string, string>(),
    expressions: [],
  };
}

const texts = (...list: readonly string[]) =>
  new TextEncoder().encode(list.map((text) => `${text}\0`).join(""));

function create(list: readonly string[], options = 0, headers = 0, expressions = 0): number {
  const bytes = texts(...list);
  return symbols.gs_nvrtc_create(bytes, bytes.length, options, headers, expressions, result);
}

Deno.test("`compileNvrtc()` throws without NVRTC", async () => {
  const { code, stdout, stderr } = await runProgram(`
    import { openNativeLibrary } from "${import.meta.resolve("../../src/ffi/library.ts")}";
    import { compileNvrtc, openNvrtc } from "${
    import.meta.resolve("../../src/ffi/native_nvrtc.ts")
  }";
    const library = openNativeLibrary(${JSON.stringify(library.path)});
    const { symbols, result } = library;
    console.log(symbols.gs_nvrtc_architectures(null, 0, result));
    for (const path of ["/nowhere/libnvrtc.so", "libc.so.6", "/", ${
    JSON.stringify(library.path)
  }]) {
      const opening = openNvrtc(library, path, "");
      console.log("problem" in opening && opening.problem !== "" ? "refused" : opening);
    }
    console.log(openNvrtc(library, "libc.so.6", "/nowhere/builtins.so"));
    const headers = new Map();
    const program = { source: "", name: "a.cu", options: [], headers, expressions: [] };
    await compileNvrtc(library, program).catch((error) => console.log(error.codeName));
  `);
  assertEquals(code, 0, stderr);
  const lines = stdout.trim().split("\n");
  assertEquals(lines.slice(0, 5), ["-7", ...Array(4).fill("refused")]);
  assertMatch(lines.slice(5).join("\n"), /\/nowhere\/builtins\.so.*No such file/s);
  assertEquals(lines.at(-1), "GS_ERROR_UNSUPPORTED");
});

Deno.test("`openNvrtc()` refuses NVRTC before 12.0, and the next one is opened", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const names = ["GetNumSupportedArchs", "GetSupportedArchs", "CreateProgram", "DestroyProgram"]
      .concat("AddNameExpression", "CompileProgram", "GetProgramLogSize", "GetProgramLog")
      .concat("GetPTXSize", "GetPTX", "GetCUBINSize", "GetCUBIN", "GetLoweredName");
    await Deno.writeTextFile(
      `${directory}/fake.cpp`,
      `extern "C" int nvrtcVersion(int* major, int* minor) { *major = MAJOR; *minor = MINOR; return 0; }
       ${names.map((name) => `extern "C" int nvrtc${name}() { return 0; }`).join("\n")}`,
    );
    for (const [major, minor] of [[11, 8], [12, 0]]) {
      const { success, stderr } = await new Deno.Command(Deno.env.get("CXX") ?? "g++", {
        args: ["-shared", "-fPIC", `-DMAJOR=${major}`, `-DMINOR=${minor}`, "-o"]
          .concat(`${directory}/libnvrtc.so.${major}`, `${directory}/fake.cpp`),
      }).output();
      assert(success, new TextDecoder().decode(stderr));
    }
    const { code, stdout, stderr } = await runProgram(`
      import { openNativeLibrary } from "${import.meta.resolve("../../src/ffi/library.ts")}";
      import { openNvrtc } from "${import.meta.resolve("../../src/ffi/native_nvrtc.ts")}";
      const library = openNativeLibrary(${JSON.stringify(library.path)});
      const open = (major) => openNvrtc(library, "${directory}/libnvrtc.so." + major, "");
      console.log(JSON.stringify([open(11), open(12).version]));
    `);
    assertEquals(code, 0, stderr);
    const problem = "it is NVRTC 11.8, and 12.0 is the oldest supported version";
    assertEquals(JSON.parse(stdout), [{ problem }, [12, 0]]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

nvrtcTest("`openNvrtc()` returns the NVRTC that is already open", () => {
  const opening = openNvrtc(library, "/nowhere/libnvrtc.so", "");
  assert("path" in opening);
  assertEquals(opening.version, installation!.version);
  assertMatch(opening.path, /libnvrtc/);
});

nvrtcTest("`nvrtcArchitectures()` returns all architectures in ascending order", () => {
  const all = nvrtcArchitectures(library);
  assertEquals(all, [...new Set(all)].sort((one, other) => one - other));
  assert(all.includes(80) && all.includes(90));
  const two = new Int32Array([-1, -1]);
  assertEquals(symbols.gs_nvrtc_architectures(two, 2, result), 0);
  assertEquals(result[0], all.length);
  assertEquals([...two], [-1, -1]);
  assertEquals(symbols.gs_nvrtc_architectures(two, -1, result), ARGUMENT);
});

nvrtcTest("`CUDA_ERROR_CODES` contains NVRTC's statuses with their names", () => {
  for (let code = 1; code <= 17; code++) {
    const native = readText((bytes, capacity) =>
      symbols.gs_status_name(-1000 - code, bytes, capacity)
    );
    assertEquals(native.text, CUDA_ERROR_CODES.get(-1000 - code)?.name);
    const meaning = readText((bytes, capacity) =>
      symbols.gs_status_text(-1000 - code, bytes, capacity)
    );
    assert(meaning.text.length > 10);
  }
  const { status } = readText((bytes, capacity) => symbols.gs_status_name(-1018, bytes, capacity));
  assertEquals(status, ARGUMENT);
});

nvrtcTest("`compileNvrtc()` creates PTX, and a cubin for a real architecture", async () => {
  const source = "__global__ void answer(int* x) { x[0] = 42; }";
  const virtual = await compileNvrtc(library, program(source));
  assert(!("refused" in virtual));
  assertEquals(virtual.cubin, undefined);
  const ptx = new TextDecoder().decode(virtual.ptx);
  assertMatch(ptx, /\.entry _Z6answerPi/);
  assert(!ptx.includes("\0"));
  const real = await compileNvrtc(library, {
    ...program(source, ["-arch=sm_80"]),
    expressions: ["answer"],
  });
  assert(!("refused" in real));
  assertEquals([...real.cubin!.subarray(0, 4)], [0x7f, 0x45, 0x4c, 0x46]);
  assertEquals(real.loweredNames, ["_Z6answerPi"]);
});

nvrtcTest("`compileNvrtc()` reports the wrong part of a program with the log", async () => {
  const source = await compileNvrtc(library, program("int x = y;"));
  assert("refused" in source && source.refused === "source");
  assertMatch(source.log, /"y" is undefined/);
  const option = await compileNvrtc(library, program("", ["--no-such-option"]));
  assert("refused" in option && option.refused === "option");
  assertMatch(option.log, /no-such-option/);
  await assertRejects(
    () => compileNvrtc(library, program("int x\0= 1;")),
    TypeError,
    "Cannot compile kernel.cu as no text may have a NUL character: its source has one",
  );
});

nvrtcTest(
  "`compileNvrtc()` does not crash on deep nesting",
  async () => {
    for (const depth of [3_000, 200_000]) {
      const nested = `${"(".repeat(depth)}1${")".repeat(depth)}`;
      const result = await compileNvrtc(library, program(`__device__ int x = ${nested};`));
      assert("refused" in result || result.ptx.length > 0);
    }
  },
);

nvrtcTest("`compileNvrtc()` compiles twelve programs at once", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `kernel_${index}`);
  const results = await Promise.all(
    names.map((name) =>
      compileNvrtc(library, program(`extern "C" __global__ void ${name}(int* x) { *x = 1; }`))
    ),
  );
  results.forEach((result, index) => {
    assert(!("refused" in result));
    assertMatch(new TextDecoder().decode(result.ptx), new RegExp(`\\.entry ${names[index]}\\(`));
  });
});

nvrtcTest("`gs_nvrtc_output()` returns outputs only after the compilation", () => {
  assertEquals(create(["", "empty.cu", "-arch=sm_80", "k"], 1, 0, 0), ARGUMENT);
  assertEquals(create(["__global__ void k() {}", "a.cu", "-arch=sm_80", "k"], 1, 0, 1), 0);
  const handle = result[0]!;
  const name = new Uint8Array(64);
  assertEquals(symbols.gs_nvrtc_output(handle, 0, null, 0, result), NOT_FOUND);
  assertEquals(symbols.gs_nvrtc_lowered_name(handle, 0, name, 64), NOT_FOUND);
  assertEquals(symbols.gs_nvrtc_compile(handle), 0);
  assertEquals(symbols.gs_nvrtc_compile(handle), 0, "compiled once, it stays so");
  assertEquals(symbols.gs_nvrtc_lowered_name(handle, 0, name, 64), 0);
  assertEquals(new TextDecoder().decode(name).replace(/\0.*/s, ""), "_Z1kv");
  assertEquals(symbols.gs_nvrtc_lowered_name(handle, 0, name, 5), -8);
  for (const index of [-1, 1, 2 ** 31 - 1]) {
    assertEquals(symbols.gs_nvrtc_lowered_name(handle, index, name, 64), NOT_FOUND);
  }
  assertEquals(symbols.gs_nvrtc_output(handle, 3, null, 0, result), ARGUMENT);
  assertEquals(symbols.gs_nvrtc_output(handle, 1, null, 8, result), ARGUMENT);
  assertEquals(symbols.gs_nvrtc_output(handle, 1, null, 0, result), 0);
  const bytes = result[0]!;
  const short = new Uint8Array(bytes - 1).fill(7);
  assertEquals(symbols.gs_nvrtc_output(handle, 1, short, bytes - 1, result), 0);
  assert(short.every((byte) => byte === 7), "too small a buffer stays unchanged");
  assertEquals(symbols.gs_nvrtc_destroy(handle), 0);
  for (const call of [symbols.gs_nvrtc_compile, symbols.gs_nvrtc_destroy]) {
    assertEquals(call(handle), HANDLE);
  }
  assertEquals(symbols.gs_nvrtc_output(handle, 0, null, 0, result), HANDLE);
});

nvrtcTest("`gs_nvrtc_create()` refuses wrong numbers of texts", () => {
  const whole = texts("", "a.cu", "-w");
  for (
    const [bytes, options, headers, expressions] of [
      [whole.length, 0, 0, 0],
      [whole.length, 2, 0, 0],
      [whole.length, 0, 1, 0],
      [whole.length, 1, 0, 1],
      [whole.length - 1, 1, 0, 0],
      [0, 0, 0, 0],
      [whole.length, -1, 0, 0],
      [whole.length, 2 ** 31 - 1, 0, 0],
      [-1, 1, 0, 0],
      [0.5, 1, 0, 0],
      [Number.NaN, 1, 0, 0],
    ] as const
  ) {
    const status = symbols.gs_nvrtc_create(whole, bytes, options, headers, expressions, result);
    assertEquals(status, ARGUMENT, `${bytes} ${options} ${headers} ${expressions}`);
  }
  assertEquals(symbols.gs_nvrtc_create(null, 0, 0, 0, 0, result), ARGUMENT);
});

nvrtcTest("`gs_nvrtc_destroy()` waits for a running compilation", async () => {
  assertEquals(create(["__global__ void k() {}", "a.cu"]), 0);
  const handle = result[0]!;
  const compiled = symbols.gs_nvrtc_compile_async(handle);
  // Either the compilation has begun and holds the program, or it comes too late.
  assertEquals(symbols.gs_nvrtc_destroy(handle), 0);
  assert([0, HANDLE].includes(await compiled));
});

nvrtcTest("`compileNvrtc()` names a failed call of NVRTC, and frees the program", async () => {
  const calls = [
    "nvrtcCreateProgram",
    "nvrtcAddNameExpression",
    "nvrtcCompileProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetPTX",
    "nvrtcGetLoweredName",
    "nvrtcDestroyProgram",
  ];
  for (const call of calls) {
    using _fault = injectFault(library, call, 1, -1011);
    const failing = { ...program("__global__ void k() {}"), expressions: ["k"] };
    const error = await assertRejects(() => compileNvrtc(library, failing), CudaError);
    assertEquals(error.codeName, "NVRTC_ERROR_INTERNAL_ERROR", call);
    const again = await compileNvrtc(library, failing);
    assert(!("refused" in again));
  }
  using _fault = injectFault(library, "nvrtcGetSupportedArchs", 1, -1003);
  const error = assertThrows(() => nvrtcArchitectures(library), CudaError);
  assertEquals(error.call, "nvrtcGetSupportedArchs");
});
