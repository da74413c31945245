/**
 * The vector instructions that kernels of the host device are compiled for.
 *
 * @module
 */

import { coversLevel3 } from "../../ffi/build/compilers.ts";
import { EnvironmentError } from "../../ffi/granted_environment.ts";
import { environment } from "../../hardware/device_list.ts";
import { HOST_VECTORS_VARIABLE, type VectorSet } from "../../hardware/environment.ts";

/** The sets of a processor family, each of which contains those behind it. */
const X86: readonly VectorSet[] = ["avx512-vnni", "avx512", "avx2", "portable"];
const ARM: readonly VectorSet[] = ["neon", "portable"];

const AVX512 = ["avx512f", "avx512bw", "avx512dq", "avx512vl"];

let own: VectorSet | undefined;

/** The widest set of this processor, as far as the program may know. */
function processorVectors(): VectorSet {
  if (own !== undefined) return own;
  if (Deno.build.arch !== "x86_64") return own = "neon";
  own = "portable";
  const path = "/proc/cpuinfo";
  // Without permission a read would ask the user.
  const { state } = Deno.permissions.querySync({ name: "read", path });
  if (Deno.build.os !== "linux" || state !== "granted") return own;
  try {
    const text = Deno.readTextFileSync(path);
    if (!coversLevel3(text, "linux")) return own;
    const flags = /^flags\s*:(.*)$/m.exec(text)?.[1]?.split(" ") ?? [];
    const isWide = AVX512.every((flag) => flags.includes(flag));
    own = !isWide ? "avx2" : flags.includes("avx512_vnni") ? "avx512-vnni" : "avx512";
  } catch (error) {
    // The narrower vectors do as well. Deno protects the path from programs without all permissions.
    if (!(error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.NotFound)) {
      throw error;
    }
  }
  return own;
}

/**
 * The vector instructions of kernels that are compiled from now on: those of the processor, or the
 * smaller set that `GRIDSTRIDE_HOST_VECTORS` names.
 *
 * `portable` means no instructions beyond those that the host library is compiled for.
 *
 * @throws {EnvironmentError} If the variable names a set that the processor lacks.
 */
export function hostVectors(): VectorSet {
  const widest = processorVectors();
  const wanted = environment.hostVectors;
  if (wanted === undefined) return widest;
  const allowed = setsWithin(widest);
  if (allowed.includes(wanted)) return wanted;
  throw new EnvironmentError(
    HOST_VECTORS_VARIABLE,
    wanted,
    allowed.join(", "),
    `the processor has no ${wanted}`,
  );
}

/** A set and those that it contains, the widest first. */
export function setsWithin(widest: VectorSet): readonly VectorSet[] {
  const family = Deno.build.arch === "x86_64" ? X86 : ARM;
  return family.slice(family.indexOf(widest));
}

/** The macros that tell a template its vector instructions. */
export function vectorMacros(set: VectorSet): readonly string[] {
  if (set === "portable") return ["GS_PORTABLE"];
  if (!set.startsWith("avx512")) return [];
  return set === "avx512" ? ["GS_AVX512"] : ["GS_AVX512", "GS_VNNI"];
}
