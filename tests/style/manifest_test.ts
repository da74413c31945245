import { assert, assertEquals } from "@std/assert";
import { nativeSources } from "../../.ci/manifest.ts";
import { MANIFEST } from "../../src/ffi/build/manifest.ts";
import { isCompiled, libraryFiles } from "../../src/ffi/build/source_tree.ts";

Deno.test("MANIFEST lists exactly the native sources", () => {
  const advice = "Run `deno run --allow-read --allow-write .ci/manifest.ts`";
  assertEquals([...MANIFEST].sort(), nativeSources(), advice);
});

Deno.test("libraryFiles() leaves the host device out of the CUDA library", () => {
  const host = libraryFiles(MANIFEST, "host");
  const cuda = libraryFiles(MANIFEST, "cuda");
  assertEquals(host, [...MANIFEST]);
  assertEquals(cuda.filter((file) => file.startsWith("csrc/host/")), []);
  assert(cuda.filter(isCompiled).every((file) => file.endsWith(".cu")));
  assert(cuda.includes("csrc/shim/abi.cu"));
});
