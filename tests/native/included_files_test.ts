import { assert, assertEquals, assertThrows } from "@std/assert";
import { PACKAGE_ROOT } from "../../src/ffi/locate.ts";
import { includedFiles } from "./included_files.ts";

function filesOf(source: string, files: Readonly<Record<string, string>>): string[] {
  return includedFiles(source, ["include", "csrc"], (path) => files[path]);
}

Deno.test("includedFiles() follows includes as the compiler does", () => {
  const files = {
    "tests/a.cpp": '#include <vector>\n#include "near.h"\n  #  include <far.h>\n',
    "tests/near.h": '#include "../csrc/deep/x.h"\n#include "near.h"\n',
    "include/near.h": "not the one: it is beside the source\n",
    "include/far.h": '#ifdef NEVER\n#include "y.h"\n#endif\n',
    "include/y.h": "",
    "csrc/far.h": "not the one: include/ comes first\n",
    "csrc/deep/x.h": '// #include "z.h"\n#include "y.h"\n',
    "csrc/z.h": "",
  };
  assertEquals(filesOf("tests/a.cpp", files), [
    "csrc/deep/x.h",
    "include/far.h",
    "include/y.h",
    "tests/a.cpp",
    "tests/near.h",
  ]);
});

Deno.test("includedFiles() of a source that is not there is an error", () => {
  assertThrows(() => filesOf("tests/a.cpp", {}), Error, "Cannot read tests/a.cpp");
});

Deno.test("includedFiles() of a test program holds its own and the host device's headers", () => {
  const read = (path: string) => {
    try {
      return Deno.readTextFileSync(new URL(path, PACKAGE_ROOT));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  };
  const files = includedFiles("tests/native/runtime_test.cpp", [
    "csrc/host/include",
    "csrc",
  ], read);
  for (const header of ["csrc/host/device/device.h", "csrc/host/include/cuda_runtime.h"]) {
    assert(files.includes(header), header);
  }
  assert(files.includes("tests/native/runtime/suites.h"));
  assert(!files.includes("tests/native/shim/suites.h"));
});
