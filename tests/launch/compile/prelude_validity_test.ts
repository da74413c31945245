// A precompiled header is used only while the compiler would make it again, to the byte, and finds
// nothing else by the names that are looked for.

import "../../support/cache_directory.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname, isAbsolute, relative } from "node:path";
import { parseRecord, type PreludeBasis } from "../../../src/ffi/build/prelude_record.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { findPrelude } from "../../../src/launch/compile/host_prelude.ts";
import { PreludeTree } from "../../ffi/build/prelude_tree.ts";
import { runProgram } from "../../support/subprocess.ts";
import { request } from "./host_request.ts";

/** A tree with its precompiled header, and whether that would be used. */
async function precompiled() {
  const tree = await PreludeTree.open();
  await tree.precompile();
  const basis = await tree.basis();
  const isUsed = async (
    changes: Partial<PreludeBasis> = {},
    asked: Partial<CompileRequest> = {},
  ): Promise<boolean> => {
    const found = await findPrelude(tree.library, { ...basis, ...changes }, request("", asked));
    return found !== undefined;
  };
  return { tree, basis, isUsed, [Symbol.dispose]: () => tree[Symbol.dispose]() };
}

Deno.test("findPrelude() asks for the compiler, the flags and the place it was made with", async () => {
  using made = await precompiled();
  const { isUsed, basis, tree } = made;
  assert(await isUsed());
  const others: readonly Partial<PreludeBasis>[] = [
    { command: [...basis.command, "-m64"] },
    { command: ["ccache", ...basis.command] },
    { version: `${basis.version} ` },
    { machine: "pdp11" },
    { flags: [...basis.flags, "-O3"] },
    { flags: basis.flags.slice(1) },
    { language: `${basis.language}/` },
    { ambient: ["GCC_EXEC_PREFIX=/elsewhere"] },
    { family: basis.family === "gcc" ? "clang" : "gcc" },
  ];
  for (const other of others) assert(!await isUsed(other), JSON.stringify(other));
  assertEquals(await findPrelude(`${tree.path}/elsewhere.so`, basis, request("")), undefined);
  assert(await isUsed());
});

Deno.test("findPrelude() leaves out requests that it may not hold for", async () => {
  using made = await precompiled();
  const { isUsed, basis } = made;
  const header = (name: string) => ({ headers: new Map([[name, ""]]) });
  for (
    const name of ["stddef.h", "absent/extra.h", "inner.h", "gridstride/user_source.h", "STDDEF.H"]
  ) {
    assert(!await isUsed({}, header(name)), name);
  }
  assert(!await isUsed({}, { options: ["-g"] }));
  for (const name of ["own.h", "bits/own.h", "stddef"]) {
    assert(await isUsed({}, header(name)), name);
  }
  assertEquals(await isUsed({}, { defines: new Map([["N", "1"]]) }), basis.family === "gcc");
});

Deno.test("findPrelude() sees that a file is another one, or another file would be found", async () => {
  const changes: readonly (readonly [string, (tree: PreludeTree) => void])[] = [
    ["a header has changed", (tree) => tree.write("gridstride/inner.h", "#define INNER 2\n")],
    ["a header is gone", (tree) => Deno.removeSync(tree.header("gridstride/inner.h"))],
    ["a header hides the system's", (tree) => tree.write("stddef.h", "")],
    ["a header that was absent is there", (tree) => tree.write("absent/extra.h", "")],
    ["its own header has changed", ({ files }) => Deno.writeTextFileSync(files.header, "int a;")],
    ["it is cut off", ({ files }) => Deno.truncateSync(files.compiled, 4096)],
    ["it is empty", ({ files }) => Deno.truncateSync(files.compiled, 0)],
    ["it is gone", ({ files }) => Deno.removeSync(files.compiled)],
    ["its record is gone", ({ files }) => Deno.removeSync(files.record)],
    ["its record is cut off", ({ files }) => Deno.truncateSync(files.record, 100)],
    ["its record is another thing", ({ files }) => Deno.writeTextFileSync(files.record, "[]")],
    ["its record is a directory", ({ files }) => {
      Deno.removeSync(files.record);
      Deno.mkdirSync(files.record);
    }],
  ];
  using made = await precompiled();
  const { tree, isUsed } = made;
  for (const [what, change] of changes) {
    assert(await isUsed(), `before ${what}`);
    change(tree);
    assert(!await isUsed(), what);
    tree.reset();
    await tree.precompile();
  }
});

Deno.test("what options of the compiler's command have found is for that command alone", async () => {
  using tree = await PreludeTree.open();
  // From here: who starts elsewhere with the same words would find something else.
  tree.write("elsewhere/stddef.h", "#include_next <stddef.h>\n#define FOREIGN\n");
  const { compiler } = tree;
  const option = relative(Deno.cwd(), tree.header("elsewhere"));
  tree.compiler = { ...compiler, command: [...compiler.command, "-isystem", option] };
  await tree.precompile();
  assertEquals(tree.warnings, []);
  const { files, directories } = parseRecord(Deno.readTextFileSync(tree.files.record))!;
  assert(files.includes(tree.header("elsewhere/stddef.h")), files.join());
  assert(directories.every(isAbsolute) && directories.includes(tree.header("elsewhere")));
  assert(await findPrelude(tree.library, await tree.basis(), request("")));
  tree.compiler = compiler;
  assertEquals(await findPrelude(tree.library, await tree.basis(), request("")), undefined);
  await tree.precompile();
  assertEquals(tree.progress.length, 2, "nor is it up to date for another");
  assert(await findPrelude(tree.library, await tree.basis(), request("")));
});

Deno.test({
  name: "findPrelude() takes nothing that belongs to another user than the library",
  // Nobody else may give files away.
  ignore: Deno.uid() !== 0,
  fn: async () => {
    using made = await precompiled();
    const { tree, isUsed } = made;
    const { header, compiled, record } = tree.files;
    const other = 1;
    for (const path of [header, compiled, record, dirname(header), tree.library]) {
      Deno.chownSync(path, other, null);
      assert(!await isUsed(), path);
      const steps = tree.progress.length;
      if (path !== tree.library) {
        // Made anew, it belongs to who makes it.
        await tree.precompile();
        assertEquals(tree.progress.length, steps + 1, path);
      }
      Deno.chownSync(tree.library, 0, null);
      assert(await isUsed(), path);
    }
    Deno.chownSync(tree.library, other, null);
    await tree.precompile();
    assertMatch(tree.warnings.join(), /host_prelude must belong to the user that .*\.so does$/);
  },
});

/** What is read by {@linkcode Deno.readFile} while it is in place, some seconds from now. */
class WatchedReads implements Disposable {
  readonly paths: string[] = [];
  readonly #readFile = Deno.readFile;
  readonly #now = Date.now;

  constructor() {
    Deno.readFile = (path, options) => {
      this.paths.push(String(path));
      return this.#readFile(path, options);
    };
    // Files are not remembered that changed less than two seconds ago.
    Date.now = () => this.#now() + 3000;
  }

  [Symbol.dispose](): void {
    Deno.readFile = this.#readFile;
    Date.now = this.#now;
  }
}

Deno.test("findPrelude() reads the files once, and then looks whether they are the same", async () => {
  using made = await precompiled();
  const { tree, isUsed } = made;
  using reads = new WatchedReads();
  assert(await isUsed());
  assert(reads.paths.includes(tree.files.compiled));
  reads.paths.length = 0;
  assert(await isUsed());
  assertEquals(reads.paths, []);
  // The same text at another time: read once more, and as good.
  Deno.utimeSync(tree.header("gridstride/inner.h"), 1, 1);
  assert(await isUsed());
  assert(reads.paths.includes(tree.files.compiled));
});

Deno.test("findPrelude() finds nothing where it may not read, and asks nobody", async () => {
  using made = await precompiled();
  const { tree, basis } = made;
  const module = import.meta.resolve("../../../src/launch/compile/host_prelude.ts");
  const program = `
import { findPrelude } from ${JSON.stringify(module)};
const found = await findPrelude(${JSON.stringify(tree.library)}, ${JSON.stringify(basis)}, {
  source: "",
  name: "",
  headers: new Map(),
  defines: new Map(),
  options: [],
  expressions: [],
  target: { kind: "host", capability: "8.9" },
});
console.log(found === undefined ? "none" : "found");
`;
  const find = async (...readable: readonly string[]): Promise<string> => {
    const permissions = ["--no-check", "--allow-env", ...readable];
    const { stdout, stderr } = await runProgram(program, { permissions });
    assertEquals(stderr, "");
    return stdout.trim();
  };
  const own = dirname(tree.files.record);
  assertEquals(await find("--allow-read"), "found");
  // Its own files, but not those that it was made of; all but its own; neither.
  assertEquals(await find(`--allow-read=${own}`), "none");
  assertEquals(await find("--allow-read", `--deny-read=${own}`), "none");
  assertEquals(await find(), "none");
});
