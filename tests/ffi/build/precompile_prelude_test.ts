import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { basename, dirname } from "node:path";
import { buildPackage } from "../../../src/ffi/build/build_libraries.ts";
import { parseRecord, preludeDirectory } from "../../../src/ffi/build/prelude_record.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { BuildFixture } from "./build_fixture.ts";
import { PreludeTree } from "./prelude_tree.ts";

/** The names in a directory, in order. */
function namesIn(directory: string): string[] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name).sort();
}

Deno.test("precompilePrelude() leaves the header, the same precompiled, and what it is of", async () => {
  using tree = await PreludeTree.open();
  await tree.precompile();
  assertEquals(tree.warnings, []);
  assertEquals(tree.progress.length, 1);
  assertMatch(tree.progress[0]!, /precompiled +\d+\.\d s, \d+\.\d MB in /);
  const { header, compiled, record } = tree.files;
  assertEquals(namesIn(dirname(header)).length, 3);
  assert(Deno.statSync(compiled).size > 10_000);
  const { files, directories, names } = parseRecord(Deno.readTextFileSync(record))!;
  assert(files.includes(tree.header("gridstride/inner.h")));
  assert(files.some((file) => file.endsWith("/stddef.h")), "files of the system are among them");
  assertEquals(directories[0], dirname(tree.header("gridstride")));
  for (const name of ["stddef.h", "gridstride/user_source.h", "absent/extra.h"]) {
    assert(names.includes(name), name);
  }
});

Deno.test("precompilePrelude() makes anew exactly what is not what it would make", async () => {
  using tree = await PreludeTree.open();
  await tree.precompile();
  const { compiled, header, record } = tree.files;
  const state = () => Deno.statSync(compiled).ino;
  const first = state();
  await tree.precompile();
  assertEquals(state(), first, "nothing has changed");
  Deno.utimeSync(tree.header("gridstride/inner.h"), 1, 1);
  await tree.precompile();
  assertEquals(state(), first, "the text is the same");
  const changes: readonly (readonly [string, () => void])[] = [
    ["a header changed", () => tree.write("gridstride/inner.h", "#pragma once\n#define INNER 2\n")],
    ["a header hides another", () => tree.write("stddef.h", "#include_next <stddef.h>\n")],
    ["a header appeared", () => tree.write("absent/extra.h", "")],
    ["it was cut off", () => Deno.truncateSync(compiled, 1000)],
    ["its header changed", () => Deno.writeTextFileSync(header, "")],
    ["its record is damaged", () => Deno.writeTextFileSync(record, '{"basis":1}')],
    ["its record is no JSON", () => Deno.writeTextFileSync(record, "{")],
    ["its record is gone", () => Deno.removeSync(record)],
  ];
  for (const [what, change] of changes) {
    const steps = tree.progress.length;
    change();
    await tree.precompile();
    assertEquals(tree.progress.length, steps + 1, what);
    await tree.precompile();
    assertEquals(tree.progress.length, steps + 1, `${what}, a while ago`);
  }
  const steps = tree.progress.length;
  await tree.precompile({ force: true });
  assertEquals(tree.progress.length, steps + 1);
  assertEquals(tree.warnings, []);
});

Deno.test("precompilePrelude() removes what is no good and what was left half-made", async () => {
  using tree = await PreludeTree.open();
  await tree.precompile();
  const directory = preludeDirectory(tree.library);
  Deno.writeTextFileSync(`${directory}/.prelude.h.1.2.gch`, "half");
  tree.write("gridstride/inner.h", "#pragma once\n");
  await tree.precompile();
  assertEquals(namesIn(directory).length, 3);
  tree.write("gridstride/inner.h", "#error no such language\n");
  await tree.precompile();
  assertEquals(tree.warnings.length, 1);
  assertStringIncludes(tree.warnings[0]!, "no such language");
  assertMatch(tree.warnings[0]!, /^Cannot precompile the headers of kernels .* for each: .* ends/);
  assertEquals(namesIn(dirname(directory)), [basename(tree.library)]);
});

Deno.test("precompilePrelude() touches nothing that is somebody's own", async () => {
  using tree = await PreludeTree.open();
  const directory = preludeDirectory(tree.library);
  using elsewhere = new TemporaryDirectory();
  const kept = elsewhere.file(new Uint8Array(1), "prelude of mine");
  Deno.symlinkSync(elsewhere.path, directory);
  await tree.precompile();
  tree.write("gridstride/inner.h", "#error no such language\n");
  await tree.precompile();
  assertEquals(tree.warnings.length, 1);
  assertEquals(namesIn(elsewhere.path), [basename(kept)]);
});

Deno.test("a header that is saved while it is read has it read again", async () => {
  using tree = await PreludeTree.open();
  const { compiler } = tree;
  const script = `#!/bin/sh
case "$*" in *c++-header*) echo '//' >> '${tree.header("gridstride/inner.h")}';; esac
exec ${compiler.command.join(" ")} "$@"
`;
  const command = tree.file(new TextEncoder().encode(script), "compiler");
  Deno.chmodSync(command, 0o755);
  tree.compiler = { ...compiler, command: [command] };
  await tree.precompile();
  assertMatch(tree.warnings.join(), /for each: they change while they are read$/);
  tree.compiler = compiler;
  tree.reset();
  // Saved just before: the first attempt cannot tell, the second can.
  await tree.precompile();
  assertEquals([tree.warnings.length, tree.progress.length], [1, 1]);
  const later = Date.now() / 1000 + 100;
  Deno.utimeSync(tree.header("gridstride/inner.h"), later, later);
  tree.write("gridstride/module_table.h", "#pragma once\n#define TABLE\n");
  await tree.precompile();
  assertEquals([tree.warnings.length, tree.progress.length], [1, 2], "a clock that is ahead");
});

Deno.test("a place that cannot be written to is said, and no error", async () => {
  using tree = await PreludeTree.open();
  // A file where the directory would be: unlike permissions, that holds for every user.
  Deno.writeTextFileSync(preludeDirectory(tree.library), "");
  await tree.precompile();
  assertEquals(tree.warnings.length, 1);
  assertMatch(tree.warnings[0]!, /^Cannot precompile the headers .*(?:Not a directory|exists)/);
});

Deno.test("directories that the environment adds are not searched", async () => {
  using tree = await PreludeTree.open();
  Deno.writeTextFileSync(`${tree.path}/stddef.h`, "#error from the environment\n");
  const before = Deno.env.get("CPATH");
  Deno.env.set("CPATH", tree.path);
  try {
    await tree.precompile();
  } finally {
    if (before === undefined) Deno.env.delete("CPATH");
    else Deno.env.set("CPATH", before);
  }
  assertEquals(tree.warnings, []);
  const { directories } = parseRecord(Deno.readTextFileSync(tree.files.record))!;
  assert(!directories.includes(tree.path));
});

Deno.test("build() precompiles the headers of kernels beside the host library", async () => {
  using fixture = new BuildFixture();
  const headers = ["user_source", "module_table"].map((name) =>
    `csrc/host/include/gridstride/${name}.h`
  );
  for (const header of headers) fixture.write(header, "#pragma once\n");
  const build = () =>
    buildPackage(fixture.root, [...fixture.files, ...headers], {
      target: "host",
      environment: (name) => fixture.variables[name],
      progress: (line) => fixture.progress.push(line),
      warnings: (line) => fixture.warnings.push(line),
    });
  const { libraries } = await build();
  assertMatch(fixture.progress.at(-1)!, /precompiled/);
  const directory = preludeDirectory(libraries[0]!.path);
  const before = Deno.statSync(directory).mtime;
  assertEquals(namesIn(directory).length, 3);
  // What the library is built from does not decide: the headers do.
  fixture.append("csrc/host/pool.cpp", "int more() { return 5; }\n");
  await build();
  assertEquals(Deno.statSync(directory).mtime, before);
  fixture.append(headers[0]!, "#error broken\n");
  const broken = await build();
  assertEquals(broken.libraries[0]!.path, libraries[0]!.path);
  assertStringIncludes(fixture.warnings.join("\n"), "broken");
  assert(!namesIn(fixture.path("build")).includes("host_prelude"));
});
