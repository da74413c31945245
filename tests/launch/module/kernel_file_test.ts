import { assertEquals, assertRejects } from "@std/assert";
import { readKernelFile } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

function read(folder: TemporaryDirectory, ...directories: string[]) {
  const include = directories.map((directory) => `${folder.path}/${directory}`);
  return readKernelFile(`${folder.path}/k.cu`, { include });
}

Deno.test("readKernelFile() finds headers beside the file, beside headers and in directories", async () => {
  using folder = TemporaryDirectory.of({
    "k.cu": '#include "near.h"\n  #  include <far.h>\n#include <cuda_fp16.h>\n' +
      '#include "sub/deep.h"\n#include "./near.h"',
    "near.h": "// near",
    "include/far.h": '#include "far_2.h"\n#include "near.h"',
    "include/far_2.h": "// far 2",
    "sub/deep.h": '#include "beside.h"\n#include "../up.h"\n#include "near.h"',
    "sub/beside.h": "// beside",
    "up.h": "// up",
    "unrelated.h": "// not included",
  });
  const { name, source, headers } = await read(folder, "include");
  assertEquals([name, source], ["k.cu", Deno.readTextFileSync(`${folder.path}/k.cu`)]);
  assertEquals(headers, {
    "near.h": "// near",
    "far.h": '#include "far_2.h"\n#include "near.h"',
    "far_2.h": "// far 2",
    "sub/deep.h": '#include "beside.h"\n#include "../up.h"\n#include "near.h"',
    "sub/beside.h": "// beside",
    "up.h": "// up",
  });
});

Deno.test("readKernelFile() reads recursive headers once and skips system headers", async () => {
  using folder = TemporaryDirectory.of({
    "k.cu": '#include "a.h"\n#include "/etc/hostname"\n#include "../k/a.h"\n#include "none.h"\n' +
      '#include <vector>\n#include "helper_cuda.h"',
    "a.h": '#include "b.h"',
    "b.h": '#include "a.h"\n#include "k.cu"',
    "vector": "#error of hosts",
    "helper_cuda.h": "#error of hosts",
  });
  const { headers } = await read(folder);
  assertEquals(Object.keys(headers).sort(), ["a.h", "b.h", "k.cu"]);
});

Deno.test("readKernelFile() refuses ambiguous headers, and wrong files and options", async () => {
  using folder = TemporaryDirectory.of({
    "k.cu": '#include "near.h"\n#include "far.h"',
    "near.h": "// near",
    "include/far.h": '#include "near.h"',
    "include/near.h": "// another",
  });
  await assertRejects(() => read(folder, "include"), TypeError, 'must mean one file: "near.h"');
  Deno.removeSync(`${folder.path}/k.cu`);
  await assertRejects(() => read(folder), Deno.errors.NotFound, "k.cu");
  await assertRejects(() => readKernelFile(7 as never), TypeError, "path must be");
  for (const include of ["/", [7], [""], {}]) {
    const options = { include } as never;
    await assertRejects(() => readKernelFile("k.cu", options), TypeError, "options.include must");
  }
});

Deno.test("Device.compileFile() compiles with local headers and shows their errors", async () => {
  using folder = TemporaryDirectory.of({
    "scale.cu": '#include "sub/factor.h"\n' +
      "#ifdef FACTOR\n__global__ void scale(int* x) { *x *= FACTOR; }\n#endif\n",
    "sub/factor.h": '#include "value.h"\n#define FACTOR VALUE\n',
    "sub/value.h": "#define VALUE 6\n",
  });
  const path = `${folder.path}/scale.cu`;
  const scaled = async (options = {}) => {
    using module = await device.compileFile(path, options);
    using x = device.upload(new Int32Array([7]));
    module.kernel("scale").launch({ grid: 1, block: 1 }, x);
    return [module.name, (await x.toArray())[0]];
  };
  assertEquals(await scaled({ name: undefined }), ["scale.cu", 42]);
  // Another header is another machine code, whatever the cache has.
  Deno.writeTextFileSync(`${folder.path}/sub/value.h`, "#define VALUE 5\n");
  assertEquals(await scaled(), ["scale.cu", 35]);
  const headers = { "sub/value.h": "#define VALUE 2\n" };
  assertEquals(await scaled({ headers, name: "other.cu" }), ["other.cu", 14]);
  Deno.writeTextFileSync(
    `${folder.path}/sub/value.h`,
    "#define VALUE missing\n__device__ int wrong = here;\n",
  );
  const error = await assertRejects(() => scaled());
  assertEquals((error as Error).message.includes("sub/value.h:2"), true, (error as Error).message);
});
