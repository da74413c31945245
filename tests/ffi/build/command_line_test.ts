import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { BuildError } from "../../../src/ffi/build/build_error.ts";
import type { BuiltLibrary } from "../../../src/ffi/build/build_options.ts";
import {
  describeReport,
  parseBuildCommand,
  runBuildCommand,
} from "../../../src/ffi/build/command_line.ts";

const NO_FLAGS = { release: false, force: false, warningsAsErrors: false, debug: false };

Deno.test("`parseBuildCommand()` reads every option", () => {
  assertEquals(parseBuildCommand([]), { options: NO_FLAGS, quiet: false, help: false });
  const args = "--target cuda --compiler clang++ --arch 9.0,80 --release --output dir --jobs 7 " +
    "--force --warnings-as-errors --debug --quiet --help";
  const options = {
    target: "cuda",
    compiler: "clang++",
    architectures: "9.0,80",
    release: true,
    output: "dir",
    jobs: 7,
    force: true,
    warningsAsErrors: true,
    debug: true,
  } as const;
  assertEquals(parseBuildCommand(args.split(" ")), { options, quiet: true, help: true });
  assertEquals(parseBuildCommand(["--arch=90"]).options.architectures, "90");
});

Deno.test("`parseBuildCommand()` throws when an option is unknown or malformed", () => {
  const wrong: [string, string][] = [
    ["--targets host", "--targets"],
    ["host", "host"],
    ["-x", "-x"],
    ["--target gpu", 'Cannot read --target as it must be host, cuda or all: it is "gpu"'],
    ["--jobs 0", "--jobs"],
    ["--jobs 1.5", "--jobs"],
    ["--jobs two", '"two"'],
    ["--arch", "--arch"],
    ["--output=", "--output"],
    ["--compiler a --compiler b", '["a","b"]'],
  ];
  for (const [text, expected] of wrong) {
    const error = assertThrows(() => parseBuildCommand(text.split(" ")), BuildError);
    assertEquals(error.exitCode, 2);
    assertStringIncludes(error.message, expected);
  }
});

Deno.test("`runBuildCommand()` returns 2 for a bad option and 0 for help", async () => {
  const lines: string[] = [];
  assertEquals(await runBuildCommand(["--jobs", "x"], (line) => lines.push(line)), 2);
  assertEquals(lines.length, 1);
  lines.length = 0;
  assertEquals(await runBuildCommand(["--help"], (line) => lines.push(line)), 0);
  const [help] = lines;
  for (const option of ["target", "compiler", "arch", "output", "jobs", "warnings-as-errors"]) {
    assertStringIncludes(help!, `--${option}`);
  }
});

Deno.test("`describeReport()` lists built, reused and skipped libraries", () => {
  const built: BuiltLibrary = {
    kind: "host",
    path: "/x/libgridstride_host.so",
    upToDate: false,
    compiled: 2,
    reused: 3,
    seconds: 1.25,
    compiler: "g++ 12",
    architectures: "x86-64-v3",
    sourceHash: "0",
    flags: "",
  };
  const skipped = [{ kind: "cuda", reason: "no nvcc" }] as const;
  const report = { directory: "/x", found: true, libraries: [built], skipped };
  assertEquals(describeReport(report), [
    "host  /x/libgridstride_host.so built in 1.3 s (2 compiled, 3 reused): g++ 12, x86-64-v3",
    "cuda  skipped: no nvcc",
  ]);
  const again = { ...report, found: false, libraries: [{ ...built, upToDate: true }], skipped: [] };
  const lines = describeReport(again);
  assertMatch(lines[0]!, /is up to date/);
  assertStringIncludes(lines[1]!, "GRIDSTRIDE_LIBRARY=/x");
});
