// What this package makes of a source is part of the key: of a release its version says it, of a
// checkout the state of the files that do it.

import { assertEquals, assertNotEquals } from "@std/assert";
import { VERSION } from "../../../src/ffi/version.ts";
import { packageStateIn } from "../../../src/launch/cache/package_state.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

Deno.test("of a checkout the files that read sources count, of a release its version", () => {
  using folder = new TemporaryDirectory();
  const root = new URL(`file://${folder.path}/`);
  for (const name of ["source", "compile", "cache"]) {
    Deno.mkdirSync(`${folder.path}/src/launch/${name}`, { recursive: true });
    Deno.writeTextFileSync(`${folder.path}/src/launch/${name}/a.ts`, "1");
  }
  Deno.mkdirSync(`${folder.path}/src/ffi/build`, { recursive: true });
  for (const name of ["launch/module_source.ts", "ffi/build/host_toolchain.ts"]) {
    Deno.writeTextFileSync(`${folder.path}/src/${name}`, "1");
  }
  assertEquals(packageStateIn(new URL("https://jsr.io/")), VERSION);
  assertEquals(packageStateIn(root), VERSION);
  Deno.mkdirSync(`${folder.path}/.git`);
  const before = packageStateIn(root);
  assertNotEquals(before, VERSION);
  Deno.writeTextFileSync(`${folder.path}/src/launch/cache/a.ts`, "longer");
  assertEquals(packageStateIn(root), before);
  const states = new Set([before]);
  const launch = ["source/a.ts", "compile/a.ts", "source/b.ts", "module_source.ts"];
  for (const name of [...launch.map((file) => `launch/${file}`), "ffi/build/host_toolchain.ts"]) {
    Deno.writeTextFileSync(`${folder.path}/src/${name}`, `of ${name}`);
    states.add(packageStateIn(root));
  }
  assertEquals(states.size, 6);
});
