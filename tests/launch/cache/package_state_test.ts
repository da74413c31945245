// What this package makes of a source is part of the key: of a release its version says it, of a
// checkout the state of the files that do it.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { PACKAGE_ROOT } from "../../../src/ffi/locate.ts";
import { VERSION } from "../../../src/ffi/version.ts";
import { packageStateIn } from "../../../src/launch/cache/package_state.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

Deno.test("of a checkout the files that read sources count, of a release its version", () => {
  using folder = new TemporaryDirectory();
  const root = new URL(`file://${folder.path}/`);
  for (const name of ["source", "compile", "signature", "cache"]) {
    Deno.mkdirSync(`${folder.path}/src/launch/${name}`, { recursive: true });
    Deno.writeTextFileSync(`${folder.path}/src/launch/${name}/a.ts`, "1");
  }
  Deno.mkdirSync(`${folder.path}/src/ffi/build`, { recursive: true });
  Deno.mkdirSync(`${folder.path}/src/memory`);
  const built = ["host_toolchain", "compiler_environment", "dependency_rule", "prelude_record"];
  const single = [
    "module_source",
    "module_contents",
  ].map((name) => `launch/${name}.ts`).concat(
    "memory/dtype.ts",
    ...built.map((name) => `ffi/build/${name}.ts`),
  );
  for (const name of single) Deno.writeTextFileSync(`${folder.path}/src/${name}`, "1");
  assertEquals(packageStateIn(new URL("https://jsr.io/")), VERSION);
  assertEquals(packageStateIn(root), VERSION);
  Deno.mkdirSync(`${folder.path}/.git`);
  const before = packageStateIn(root);
  assertNotEquals(before, VERSION);
  Deno.writeTextFileSync(`${folder.path}/src/launch/cache/a.ts`, "longer");
  assertEquals(packageStateIn(root), before);
  const states = new Set([before]);
  const listed = ["source/a.ts", "compile/a.ts", "signature/a.ts", "source/b.ts"].map((name) =>
    `launch/${name}`
  );
  for (const name of [...listed, ...single]) {
    Deno.writeTextFileSync(`${folder.path}/src/${name}`, `of ${name}`);
    states.add(packageStateIn(root));
  }
  assertEquals(states.size, 1 + listed.length + single.length);
});

Deno.test("of this package the state is known", () => {
  assert(!packageStateIn(PACKAGE_ROOT).includes("not known"), "a file that counts is not there");
});
