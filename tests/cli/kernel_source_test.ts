// Files that cannot be read are the user's to put right, and named.

import "../support/cache_directory.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { FileProblem } from "../../src/cli/file_problem.ts";
import { readKernelSource } from "../../src/cli/kernel_source.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

Deno.test("a file or directory that is not there is named", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/k.cu`;
  const read = (...directories: string[]) =>
    readKernelSource(path, directories.map((directory) => `${folder.path}/${directory}`));
  await assertRejects(() => read(), FileProblem, "k.cu");
  Deno.writeTextFileSync(path, '#include "own.h"');
  await assertRejects(() => read("absent"), FileProblem, "absent as it is no directory");
  await assertRejects(() => read("k.cu"), FileProblem, "no directory");
  assertEquals((await read(".")).headers, {});
  Deno.mkdirSync(`${folder.path}/include`);
  Deno.writeTextFileSync(`${folder.path}/include/own.h`, "// own");
  assertEquals((await read("include")).headers, { "own.h": "// own" });
});
