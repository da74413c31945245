import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  chooseArchitecture,
  nvrtcOptions,
  readOptions,
} from "../../../src/launch/compile/nvrtc_options.ts";
import { request } from "./host_request.ts";

const read = (...options: string[]) => readOptions(request("", { options }), "NVRTC 13.0");

Deno.test("readOptions() reads directories, headers and architecture in all forms", () => {
  const forms = ["-I", "-I=", "-I ", "--include-path="].map((form) => `${form}/a b`);
  for (const form of forms) assertEquals(read(form).directories, ["/a b"], form);
  assertEquals(read("-I", "/a", "--include-path", "/b", "-w", "-I/c").directories, [
    "/a",
    "/b",
    "/c",
  ]);
  assertEquals(read("-include=x.h", "--pre-include", "y.h").first, ["x.h", "y.h"]);
  assertEquals(read("-arch=sm_80", "--gpu-architecture", "sm_90a").architecture, "sm_90a");
  assertEquals(read().architecture, undefined);
});

Deno.test("readOptions() keeps other options in order", () => {
  assertEquals(
    read("-use_fast_math", "-D", "A=1", "-DB", "-U", "C", "-Xptxas", "-O1", "-I/x", "--fmad=false")
      .others,
    [
      "-use_fast_math",
      "--define-macro=A=1",
      "--define-macro=B",
      "--undefine-macro=C",
      "--ptxas-options=-O1",
      "--fmad=false",
    ],
  );
  assertEquals(read("-rdc=false").others, ["-rdc=false"]);
});

Deno.test("readOptions() refuses options without code, with files, and without a value", () => {
  const refused = [
    [
      "-dc --device-c -dlto -optix-ir -fdevice-syntax-only -rdc=true -rdc",
      "leaves no machine code",
    ],
    ["--pch --create-pch=x.pch -time=x.csv --fdevice-time-trace=x", "compile cache does not cover"],
    ["-I --include-path= -arch -D -include=", "needs a value: it has none"],
  ] as const;
  for (const [options, message] of refused) {
    for (const option of options.split(" ")) assertThrows(() => read(option), TypeError, message);
  }
});

Deno.test("chooseArchitecture() returns the device's, or the newest older one", () => {
  const supported = [75, 80, 86, 89, 90, 100, 120];
  const choose = (capability: string, list: readonly number[] = supported) =>
    chooseArchitecture(request("", { target: { kind: "cuda", capability } }), list, "NVRTC 13.0");
  assertEquals(choose("9.0"), "sm_90");
  assertEquals(choose("12.0"), "sm_120");
  assertEquals(choose("8.7"), "compute_86");
  assertEquals(choose("13.5"), "compute_120");
  const error = assertThrows(() => choose("7.0"), RangeError);
  assertEquals(
    error.message,
    "Cannot compile test.cu with NVRTC 13.0 as the device's compute capability must be 7.5 or " +
      "newer: it is 7.0. An older CUDA toolkit compiles for it",
  );
  assertThrows(() => choose("9.0", []), RangeError, "must be known to it");
});

Deno.test("nvrtcOptions() puts the program's options last", () => {
  const made = (options: string[], architecture = "sm_90") => {
    const asked = request("", { options, defines: new Map([["N", "4"], ["EMPTY", ""]]) });
    return nvrtcOptions(asked, readOptions(asked, "NVRTC"), architecture, ["--no-cache"]);
  };
  const plain = made([]);
  assertEquals(plain[0], "--gpu-architecture=sm_90");
  const own = "--no-cache --std=c++17 --generate-line-info --ptxas-options=-v --define-macro=N=4 " +
    "--define-macro=EMPTY= --device-as-default-execution-space";
  for (const option of own.split(" ")) assert(plain.includes(option), option);
  assert(!made(["-std=c++20"]).includes("--std=c++17"));
  assertEquals(made(["-std=c++20"]).at(-1), "--std=c++20");
  assert(!made(["-G"]).includes("--generate-line-info"));
  assert(!made([], "compute_90").includes("--ptxas-options=-v"), "PTX has no registers yet");
});
