import { assert, assertEquals } from "@std/assert";
import { device } from "../../support/device.ts";
import { runFile } from "../../support/subprocess.ts";

const isLinuxHost = device.context.library.kind === "host" && Deno.build.os === "linux";

/** Whether this compiler starts. */
function isThere(compiler: string): boolean {
  try {
    return new Deno.Command(compiler, { args: ["--version"] }).outputSync().success;
  } catch {
    return false;
  }
}

const both = (word: string, line: number) => [
  ` (${word} text.cu:${line})`,
  ` (${word} my kernels.cu:${line})`,
];

for (const compiler of ["g++", "clang++"].filter(isThere)) {
  Deno.test({
    name: `A fault of a kernel names file and line of the source, by ${compiler}`,
    ignore: !isLinuxHost,
    fn: async () => {
      const { code, stdout, stderr } = await runFile("tests/launch/module/fault_lines_program.ts", {
        environment: {
          CXX: compiler,
          GRIDSTRIDE_FAKE: "10x64MiB@8.9",
        },
      });
      assertEquals([code, stderr], [0, ""]);
      const { in_atomic: inAtomic, in_trap: inTrap, ...exact } = JSON.parse(stdout);
      assertEquals(exact, {
        direct: both("at", 4),
        in_header: [" (at own.cuh:3)", " (at own.cuh:3)"],
        endless: both("at", 24),
      });
      // clang++ does not mark the statement that calls an inline function: no line claims to be exact.
      if (compiler === "g++") {
        assertEquals([inAtomic, inTrap], [both("near", 13), both("near", 19)]);
      } else {
        assert([...inAtomic, ...inTrap].every((text) => !text.startsWith(" (at ")), stdout);
      }
    },
  });
}
