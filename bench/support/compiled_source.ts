/**
 * The C side of the benchmarks: sources of `bench/native/`, compiled when they are first needed.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { findCppCompiler } from "../../src/ffi/build/compilers.ts";
import { runProgram } from "../../src/ffi/build/programs.ts";

const ROOT = new URL("../../", import.meta.url);
const HEADER = new URL("csrc/gridstride.h", ROOT);

/**
 * Compiles a source, unless that was done before with this compiler.
 *
 * @param name The source's name without `.cpp`.
 * @returns The path of the library.
 */
export async function compiledSource(name: string): Promise<string> {
  const source = new URL(`bench/native/${name}.cpp`, ROOT);
  const compiler = await findCppCompiler(undefined, (variable) => Deno.env.get(variable));
  const hash = createHash("sha256").update(compiler.identity);
  for (const file of [source, HEADER]) hash.update(await Deno.readTextFile(file));
  const directory = new URL("build/bench/", ROOT).pathname;
  const library = `${directory}${name}-${hash.digest("hex").slice(0, 16)}.so`;
  try {
    await Deno.stat(library);
    return library;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  await Deno.mkdir(directory, { recursive: true });
  const unfinished = `${library}.${Deno.pid}`;
  const warnings = ["-Wall", "-Wextra"];
  const flags = ["-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", ...warnings];
  const { success, stderr } = await runProgram(compiler.command, [
    ...flags,
    `-I${new URL("csrc", ROOT).pathname}`,
    source.pathname,
    ...["-o", unfinished, "-ldl", "-pthread"],
  ]);
  if (!success) throw new Error(`Cannot compile ${source.pathname}: ${stderr}`);
  await Deno.rename(unfinished, library);
  return library;
}
