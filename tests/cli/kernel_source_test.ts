// A source comes with the headers that it includes, and nothing else.

import { assertEquals, assertRejects } from "@std/assert";
import { FileProblem } from "../../src/cli/file_problem.ts";
import { readKernelSource } from "../../src/cli/kernel_source.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string>>): TemporaryDirectory {
  const folder = new TemporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    const path = `${folder.path}/${name}`;
    Deno.mkdirSync(path.replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(path, text);
  }
  return folder;
}

function read(folder: TemporaryDirectory, ...directories: string[]) {
  const paths = directories.map((directory) => `${folder.path}/${directory}`);
  return readKernelSource(`${folder.path}/k.cu`, paths);
}

Deno.test("headers are found beside the file, beside headers, and in directories, by their names", async () => {
  using folder = folderWith({
    "k.cu":
      '#include "near.h"\n  #  include <far.h>\n#include <cuda_fp16.h>\n#include "sub/deep.h"',
    "near.h": "// near",
    "include/far.h": '#include "near.h"\n#include "far_2.h"',
    "include/far_2.h": "// far 2",
    "sub/deep.h": '#include "beside.h"',
    "sub/beside.h": "// beside",
    "unrelated.h": "// not included",
  });
  await Deno.remove(`${folder.path}/unrelated.h`);
  const { name, headers } = await readWithout(folder, "near.h");
  assertEquals(name, "k.cu");
  assertEquals(Object.keys(headers).sort(), [
    "beside.h",
    "far.h",
    "far_2.h",
    "near.h",
    "sub/deep.h",
  ]);
  assertEquals(headers["sub/deep.h"], '#include "beside.h"');
});

/** Reads with `include/` where the name is found there first, as it is beside `far.h`. */
async function readWithout(folder: TemporaryDirectory, name: string) {
  await assertRejects(
    async () => {
      Deno.writeTextFileSync(`${folder.path}/include/${name}`, "// another");
      await read(folder, "include");
    },
    FileProblem,
    "one name must mean one file",
  );
  Deno.removeSync(`${folder.path}/include/${name}`);
  return await read(folder, "include", ".");
}

Deno.test("headers that include each other are read once, and absolute or leading ones left", async () => {
  using folder = folderWith({
    "k.cu": '#include "a.h"\n#include "/etc/hostname"\n#include "../secret.h"\n#include "none.h"',
    "a.h": '#include "b.h"',
    "b.h": '#include "a.h"\n#include "k.cu"',
  });
  const { headers } = await read(folder);
  assertEquals(Object.keys(headers).sort(), ["a.h", "b.h", "k.cu"]);
});

Deno.test("a file or directory that is not there is named", async () => {
  using folder = folderWith({ "other.cu": "" });
  await assertRejects(() => read(folder), FileProblem, "k.cu");
  Deno.writeTextFileSync(`${folder.path}/k.cu`, "");
  await assertRejects(() => read(folder, "absent"), FileProblem, "absent as it is no directory");
  await assertRejects(() => read(folder, "k.cu"), FileProblem, "no directory");
  assertEquals((await read(folder, ".")).headers, {});
});
