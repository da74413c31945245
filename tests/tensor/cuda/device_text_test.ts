// The templates of generated kernels as a compiler for CUDA reads them, which the host's compiler
// preprocesses: no CUDA is needed.
// Needs no GPU: it compiles for given architectures.

import { assert, assertEquals } from "@std/assert";
import { nativeSources } from "../../../.ci/manifest.ts";
import { findCppCompiler } from "../../../src/ffi/build/compilers.ts";
import { grantedEnvironment } from "../../../src/ffi/granted_environment.ts";
import { repositoryPath } from "../../support/subprocess.ts";

/** The paths and texts of all templates. */
const templates = nativeSources()
  .filter((path) => /^csrc\/kernels\/(tensor|ternary)\//.test(path))
  .map((path) => [path, Deno.readTextFileSync(repositoryPath(path))] as const);

/** Text as a device compiler sees it, without the headers of others; `#line` names files and lines. */
async function preprocessed(texts: typeof templates): Promise<string> {
  const { command: [program, ...args] } = await findCppCompiler(undefined, grantedEnvironment);
  const defines = ["__CUDACC__", "__CUDACC_RTC__", "__CUDA_ARCH__=900"]
    .concat(["FLOAT16", "BFLOAT16", "FLOAT8"].map((type) => `GS_USES_${type}`));
  const process = new Deno.Command(program!, {
    args: [...args, "-E", "-x", "c++", ...defines.map((it) => `-D${it}`), "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = process.stdin.getWriter();
  const own = texts.map(([name, text]) =>
    `#line 1 "${name}"\n${text.replaceAll(/^#(?:include|pragma once).*$/gm, "")}`
  );
  await writer.write(new TextEncoder().encode(own.join("\n")));
  await writer.close();
  const { success, stdout, stderr } = await process.output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** The lines of a preprocessed text that match, with their files and numbers. */
function linesWith(pattern: RegExp, text: string): string[] {
  let [file, number] = ["", 0];
  return text.split("\n").flatMap((line) => {
    const [, start, name] = /^# (\d+) "([^"]*)"/.exec(line) ?? [];
    if (start !== undefined) {
      [file, number] = [name!, Number(start) - 1];
      return [];
    }
    number++;
    return pattern.test(line) ? [`${file}:${number}: ${line.trim()}`] : [];
  });
}

/** NVRTC has none, or others than g++ and clang++. */
const BUILT_IN = /\b__(?:is|has|builtin)_\w/;

Deno.test("templates of kernels use no built-in functions of host compilers in device code", async () => {
  assert(templates.length > 10);
  assertEquals(linesWith(BUILT_IN, await preprocessed(templates)), []);
  const wrong = [[
    "a.cuh",
    "int x;\nbool y = __is_same(int, X);\n#if 0\n__builtin_f();\n#endif",
  ]] as const;
  assertEquals(linesWith(BUILT_IN, await preprocessed(wrong as never)), [
    "a.cuh:2: bool y = __is_same(int, X);",
  ]);
});

/**
 * What asks on purpose. `vectors.cuh` is read by host compilers alone. Most of the others have
 * instructions of capability 8.0; kernels of narrow floats and those of decoding are compiled for 7.5
 * as well. Clusters are of 9.0: kernels for other devices read rows in another way.
 */
const ASKING = ["element", "matmul/tensor_core", "reduce", "reduce_threads", "vectors"]
  .map((name) => `csrc/kernels/tensor/${name}.cuh`);

Deno.test("templates of kernels ask for no feature by __has_… and for no compute capability", () => {
  const asking = templates.filter(([, text]) => /\b__has_\w+|\b__CUDA_ARCH/.test(text));
  assertEquals(asking.map(([path]) => path), ASKING);
});
