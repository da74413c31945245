/**
 * The vector instructions of this processor, and the options by which g++ and clang++ use them.
 *
 * @module
 */

import { coversLevel3 } from "./compilers.ts";

/** Vector instructions by name, of each family of processors from the widest to the narrowest. */
export const VECTOR_SETS = ["avx512-vnni", "avx512", "avx2", "neon", "portable"] as const;

/** Vector instructions of a processor; `portable` is those of its family's base. */
export type VectorSet = (typeof VECTOR_SETS)[number];

const AVX512 = ["avx512f", "avx512bw", "avx512dq", "avx512vl"];

let own: readonly VectorSet[] | undefined;

/** The sets of this processor from the widest on, as far as the program may know. */
export function vectorSets(): readonly VectorSet[] {
  return own ??= VECTOR_SETS.slice(VECTOR_SETS.indexOf(widest()))
    .filter((set) => Deno.build.arch !== "x86_64" || set !== "neon");
}

function widest(): VectorSet {
  if (Deno.build.arch !== "x86_64") return "neon";
  const path = "/proc/cpuinfo";
  // Without permission a read would ask the user.
  const { state } = Deno.permissions.querySync({ name: "read", path });
  if (Deno.build.os !== "linux" || state !== "granted") return "portable";
  try {
    const text = Deno.readTextFileSync(path);
    if (!coversLevel3(text, "linux")) return "portable";
    const flags = /^flags\s*:(.*)$/m.exec(text)?.[1]?.split(" ") ?? [];
    if (!AVX512.every((flag) => flags.includes(flag))) return "avx2";
    return flags.includes("avx512_vnni") ? "avx512-vnni" : "avx512";
  } catch (error) {
    // The narrower vectors do as well. Deno protects the path from programs without all permissions.
    if (error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.NotFound) {
      return "portable";
    }
    throw error;
  }
}

/** The options that add a set's instructions to those that the host library is compiled for. */
export function vectorFlags(set: VectorSet): string[] {
  if (!set.startsWith("avx512")) return [];
  const names = set === "avx512" ? AVX512 : [...AVX512, "avx512vnni"];
  return [...names.map((name) => `-m${name}`), "-mprefer-vector-width=512"];
}

/**
 * The options of generated kernels that are loops over elements: accumulators stay in registers only
 * where short loops are unrolled, and products are not contracted to fused multiply-adds.
 */
export const LOOP_FLAGS: readonly string[] = ["-O3", "-ffp-contract=off"];
