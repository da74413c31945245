// Which compiler is taken for CUDA: an NVRTC that is named and not there is no reason to take nvcc.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { runCommandLine } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

Deno.test("an NVRTC that is named has to be there", async () => {
  using folder = new TemporaryDirectory();
  const source = folder.file(new TextEncoder().encode("__global__ void k() {}\n"), "k.cu");
  const missing = `${folder.path}/libnvrtc.so.13`;
  const { code, stdout, stderr } = await runCommandLine(
    ["compile", source, "--arch", "9.0", "--cubin"],
    { GRIDSTRIDE_NVRTC: missing },
  );
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, missing);
  assertStringIncludes(stderr, "GRIDSTRIDE_NVRTC");
});
