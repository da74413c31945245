// How the loader finds the host library for a module: by its soname, in a process that opened it as
// Deno does, privately, and by whatever path. A module is linked with one copy of the library, and
// no other may run it.
// Needs no GPU: it compiles for the host device.

import { assertEquals, assertMatch } from "@std/assert";
import { runFile } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { NativeBuild } from "./native_build.ts";
import { LINKED_MODULE } from "./native_programs.ts";

let built: Promise<{ library: string; module: string }> | undefined;

/** The library and the module, built once. */
function build(): Promise<{ library: string; module: string }> {
  return built ??= (async () => {
    const native = await NativeBuild.open("host");
    return { module: await native.program(LINKED_MODULE), library: await native.library() };
  })();
}

/** What the program prints for each library, by paths that the test chooses. */
async function linesOf(
  paths: (library: string, copied: (name: string) => string) => string[],
): Promise<string[]> {
  const { library, module } = await build();
  using directory = new TemporaryDirectory();
  const content = await Deno.readFile(library);
  const args = [module, ...paths(library, (name) => directory.file(content, name))];
  const { code, stdout, stderr } = await runFile("tests/native/module_linking_program.ts", {
    args,
    environment: { LD_LIBRARY_PATH: undefined },
  });
  assertEquals({ code, stderr }, { code: 0, stderr: "" });
  return stdout.trimEnd().split("\n");
}

const onLinux = Deno.build.os === "linux";

Deno.test({
  name: "a module runs on the library that the process opened",
  ignore: !onLinux,
  fn: async () => {
    assertEquals(await linesOf((library) => [library]), ["launched: 0"]);
  },
});

Deno.test({
  name: "a module runs on a library that was opened by another path and name",
  ignore: !onLinux,
  fn: async () => {
    assertEquals(await linesOf((_, copied) => [copied("another name.so")]), ["launched: 0"]);
  },
});

Deno.test({
  name: "a module is refused by the second of two copies of the library",
  ignore: !onLinux,
  fn: async () => {
    const lines = await linesOf((library, copied) => [library, copied("copy.so")]);
    assertEquals(lines[0], "launched: 0");
    assertMatch(lines.slice(1).join("\n"), /two copies of the host library are loaded.*copy\.so/);
  },
});
