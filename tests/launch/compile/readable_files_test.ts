// Headers are read from files alone: what is no file may have no end, and would fill the memory.

import { assertEquals, assertRejects } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { programIncludes } from "../../../src/launch/compile/nvrtc_headers.ts";
import { isSpecial, textOf } from "../../../src/launch/compile/readable_files.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

Deno.test("a file has a text; a device, a directory and what is absent have none", async () => {
  using temporary = new TemporaryDirectory();
  const file = temporary.file(new TextEncoder().encode("int x;"), "x.h");
  const places = [file, "/dev/zero", temporary.path, `${temporary.path}/none.h`];
  assertEquals(await Promise.all(places.map(textOf)), ["int x;", undefined, undefined, undefined]);
  assertEquals(places.map(isSpecial), [false, true, false, false]);
});

Deno.test("a source that includes what is no file does not compile, and says which", async () => {
  using temporary = new TemporaryDirectory();
  await Deno.symlink("/dev/zero", `${temporary.path}/endless.h`);
  const target = { kind: "host", capability: "8.9" } as const;
  const nothing = { name: "k.cu", headers: new Map(), defines: new Map(), options: [], target };
  const includes = (source: string) =>
    programIncludes(
      { source, ...nothing },
      { directories: [temporary.path], toolkit: [], first: [] },
    );
  assertEquals(await includes("#include </no/such.h>\n#include <none.h>\n"), []);
  for (
    const [source, path] of [
      ["#include </dev/zero>", "/dev/zero"],
      ['#include "endless.h"', `${temporary.path}/endless.h`],
    ] as const
  ) {
    await assertRejects(
      () => includes(source),
      CompileError,
      `Cannot compile k.cu with Gridstride:\nerror: cannot include ${path} as it must be a file`,
    );
  }
});
