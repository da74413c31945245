/**
 * Machine code for the host device, for tests below the compiler of kernels.
 *
 * @module
 */

import { findCppCompiler } from "../../src/ffi/build/compilers.ts";
import { kernelFlags, kernelLinkFlags } from "../../src/ffi/build/toolchains.ts";
import { runProgram } from "../../src/ffi/build/programs.ts";
import type { NativeLibrary } from "../../src/ffi/library.ts";
import { repositoryPath } from "./subprocess.ts";
import { TemporaryDirectory } from "./temporary_file.ts";

/** `tests/native/module_kernels.cu`, compiled for a host library. */
export async function moduleImage(library: NativeLibrary): Promise<Uint8Array<ArrayBuffer>> {
  const { command, family } = await findCppCompiler(undefined, (name) => Deno.env.get(name));
  using directory = new TemporaryDirectory();
  const image = `${directory.path}/module_kernels.so`;
  const { success, stderr } = await runProgram(command, [
    ...kernelFlags(family, library.build.architectures),
    `-I${repositoryPath("csrc/host/include")}`,
    "-x",
    "c++",
    repositoryPath("tests/native/module_kernels.cu"),
    "-x",
    "none",
    "-o",
    image,
    ...kernelLinkFlags(await Deno.realPath(library.path)),
  ]);
  if (!success) throw new Error(`Cannot compile module_kernels.cu: ${stderr}`);
  return Deno.readFileSync(image);
}
