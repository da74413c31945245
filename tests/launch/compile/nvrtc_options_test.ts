import { assert, assertEquals, assertThrows } from "@std/assert";
import { readOptions } from "../../../src/launch/compile/compiler_options.ts";
import { chooseArchitecture, nvrtcOptions } from "../../../src/launch/compile/nvrtc_options.ts";
import { request } from "./host_request.ts";

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
    return nvrtcOptions(asked, readOptions(asked, "NVRTC", "nvrtc"), architecture, ["--no-cache"]);
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
