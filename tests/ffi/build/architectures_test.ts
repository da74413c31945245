import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  type ArchitectureContext,
  architectureName,
  chooseArchitectures,
  parseArchitectures,
} from "../../../src/ffi/build/architectures.ts";
import { BuildError } from "../../../src/ffi/build/build_error.ts";

const CUDA_13 = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];

function choose(change: Partial<ArchitectureContext> & { list?: string }): {
  names: string[];
  notes: readonly string[];
} {
  const { list, ...rest } = change;
  const { architectures, notes } = chooseArchitectures({
    request: list === undefined ? undefined : parseArchitectures(list, "CUDA_ARCH"),
    source: "CUDA_ARCH",
    release: false,
    present: [],
    supported: CUDA_13,
    compiler: "nvcc 13.0.88",
    ...rest,
  });
  return { names: architectures.map(architectureName), notes };
}

Deno.test("`parseArchitectures()` reads every accepted form", () => {
  const forms: [string, string[]][] = [
    ["sm_90", ["sm_90"]],
    ["90", ["sm_90"]],
    ["9.0", ["sm_90"]],
    ["90a", ["sm_90a"]],
    ["9.0a", ["sm_90a"]],
    ["sm_100f", ["sm_100f"]],
    ["10.0", ["sm_100"]],
    ["12.1", ["sm_121"]],
    ["compute_80", ["compute_80"]],
    ["7.5,8.0;9.0 120", ["sm_75", "sm_80", "sm_90", "sm_120"]],
    [" 80 , 90\t", ["sm_80", "sm_90"]],
  ];
  for (const [text, expected] of forms) {
    const { listed, native } = parseArchitectures(text, "CUDA_ARCH");
    assertEquals([listed.map(architectureName), native], [expected, false], text);
  }
  const mixed = parseArchitectures("native,sm_80", "CUDA_ARCH");
  assertEquals([mixed.native, mixed.listed.length], [true, 1]);
});

Deno.test("`parseArchitectures()` throws when a name is malformed", () => {
  for (const text of "sm_ sm_9 9 1000 9.01 90b sm90 nativ 90-100 ９０ 9,0".split(" ")) {
    const error = assertThrows(() => parseArchitectures(text, "CUDA_ARCH"), BuildError);
    assertEquals(error.exitCode, 2);
    assertStringIncludes(error.message, "Cannot read CUDA_ARCH as it must be");
    assertStringIncludes(error.message, JSON.stringify(text.split(",")[0]));
  }
  for (const text of ["", " "]) {
    assertThrows(() => parseArchitectures(text, "--arch"), BuildError, "it is empty");
  }
  for (const text of ["90,,", "90,", ",90", "80;;90", ",;", "80, ,90"]) {
    const whole = `it is "" in ${JSON.stringify(text)}`;
    assertThrows(() => parseArchitectures(text, "CUDA_ARCH"), BuildError, whole);
  }
});

Deno.test("`chooseArchitectures()` takes the named architectures and adds PTX of the newest", () => {
  assertEquals(choose({ list: "90,80,9.0" }).names, ["sm_80", "sm_90", "compute_90"]);
  assertEquals(choose({ list: "90", present: [75] }).names, ["sm_90", "compute_90"]);
  // Code of one architecture's own features says nothing to any other.
  assertEquals(choose({ list: "90a" }).names, ["sm_90a"]);
  assertEquals(choose({ list: "90a,80" }).names, ["sm_80", "sm_90a", "compute_80"]);
  assertEquals(choose({ list: "compute_80" }).names, ["compute_80"]);
  assertEquals(choose({ list: "80", release: true }).names, ["sm_80", "compute_80"]);
});

Deno.test("`chooseArchitectures()` takes the GPUs present, else 8.0 and 9.0", () => {
  assertEquals(choose({ present: [89] }).names, ["sm_89", "compute_89"]);
  assertEquals(choose({ present: [75, 90] }).names, ["sm_75", "sm_90", "compute_90"]);
  assertEquals(choose({}).names, ["sm_80", "sm_90", "compute_90"]);
  const { names } = choose({ list: "native,75", present: [90] });
  assertEquals(names, ["sm_75", "sm_90", "compute_90"]);
});

Deno.test("`chooseArchitectures()` leaves out architectures when the compiler lacks them", () => {
  assertEquals(
    choose({ release: true, present: [89] }).names.join(" "),
    "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_120",
  );
  const { names, notes } = choose({ release: true, supported: [75, 80, 86, 87, 89, 90] });
  assertEquals(names.join(" "), "sm_75 sm_80 sm_86 sm_89 sm_90 compute_90");
  assertEquals(notes.length, 2);
  assertStringIncludes(notes[0]!, "sm_100");
});

Deno.test("`chooseArchitectures()` takes PTX when a GPU is newer than the compiler", () => {
  const { names, notes } = choose({ present: [130] });
  assertEquals(names, ["compute_121"]);
  assertStringIncludes(notes[0]!, "does not compile for sm_130: PTX for compute_121");
  assertEquals(choose({ present: [101] }).names, ["compute_100"]);
});

Deno.test("`chooseArchitectures()` throws when an architecture cannot be built", () => {
  const message = (change: Parameters<typeof choose>[0]) =>
    assertThrows(() => choose(change), BuildError).message;
  assertStringIncludes(message({ list: "70" }), "Cannot build for sm_70 as CUDA_ARCH says");
  assertStringIncludes(message({ list: "70" }), "nvcc 13.0.88 compiles for 75, 80");
  assertStringIncludes(message({ list: "native" }), "reports no GPU");
  assertStringIncludes(message({ present: [61] }), "it has 6.1");
});
