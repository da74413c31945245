// What the built libraries export: the functions of the header, and in the host library those that
// kernels compiled for it call. Anything else could be taken for another library's symbol.

import { assert, assertEquals } from "@std/assert";
import { findProgram, runProgram } from "../../src/ffi/build/programs.ts";
import type { LibraryKind } from "../../src/ffi/library.ts";
import { builtLibrary } from "../support/built_library.ts";
import { headerFunctions } from "../support/header.ts";

const nm = findProgram("nm", (name) => Deno.env.get(name));

/** The names of the symbols that a library defines for others. */
async function exportsOf(library: string): Promise<string[]> {
  const darwin = Deno.build.os === "darwin";
  const selection = darwin ? ["-gU"] : ["--dynamic", "--defined-only"];
  const { success, stdout, stderr } = await runProgram([nm!], [...selection, library]);
  assert(success, stderr);
  const names = stdout.trimEnd().split("\n").map((line) => line.split(/\s+/).at(-1)!);
  // On macOS a C function's symbol begins with an underscore.
  return names.map((name) => darwin ? name.replace(/^_/, "") : name).sort();
}

/** The functions that the headers of the host device declare for kernels. */
function kernelFunctions(folder = new URL("../../csrc/host/include/", import.meta.url)): string[] {
  return [...Deno.readDirSync(folder)].flatMap((entry) => {
    if (entry.isDirectory) return kernelFunctions(new URL(`${entry.name}/`, folder));
    const text = Deno.readTextFileSync(new URL(entry.name, folder));
    return [...text.matchAll(/^GS_HOST_API [^;{]*?\b(gs_host_\w+)\(/gm)].map((match) => match[1]!);
  });
}

function testExports(kind: LibraryKind, functions: readonly string[]): void {
  const library = builtLibrary(kind);
  const skipped = nm === undefined
    ? " (skipped: no nm)"
    : library === undefined
    ? " (skipped: it is not built)"
    : "";
  Deno.test({
    name: `libgridstride_${kind} exports only the functions of the headers${skipped}`,
    ignore: skipped !== "",
    fn: async () => assertEquals(await exportsOf(library!), [...functions].sort()),
  });
}

const seam = headerFunctions().map(({ name }) => name);

testExports("cuda", seam);
testExports("host", [...seam, ...kernelFunctions()]);
