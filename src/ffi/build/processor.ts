/**
 * Whether the processor that builds has the instructions of x86-64-v3: the host device then
 * converts half precision and rounds fused multiply-adds in hardware, as a GPU does.
 *
 * @module
 */

import { runProgram } from "./programs.ts";

/** The instruction sets of x86-64-v3, as Linux names them (`abm` brings LZCNT). */
const LEVEL_3 = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"] as const;

/** The same as macOS names them. */
const LEVEL_3_DARWIN = [
  "avx1.0",
  "avx2",
  "bmi1",
  "bmi2",
  "f16c",
  "fma",
  "lzcnt",
  "movbe",
  "xsave",
] as const;

/** Whether a list of processor features, as the system prints it, covers x86-64-v3. */
export function coversLevel3(features: string, os: string): boolean {
  const present = new Set(features.toLowerCase().split(/\s+/));
  return (os === "darwin" ? LEVEL_3_DARWIN : LEVEL_3).every((name) => present.has(name));
}

/** The first list of features in the text of `/proc/cpuinfo`. */
export function featuresOfCpuinfo(text: string): string {
  return /^flags\s*:\s*(.*)$/m.exec(text)?.[1] ?? "";
}

/**
 * The features of the processor as the system prints them; empty when it does not tell, so that
 * the build falls back to what every processor has.
 */
async function processorFeatures(): Promise<string> {
  if (Deno.build.os === "darwin") {
    const names = ["machdep.cpu.features", "machdep.cpu.leaf7_features"];
    const { stdout } = await runProgram(["/usr/sbin/sysctl"], [
      "-n",
      ...names,
      "machdep.cpu.extfeatures",
    ]);
    return stdout;
  }
  try {
    return featuresOfCpuinfo(await Deno.readTextFile("/proc/cpuinfo"));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotCapable) return "";
    throw error;
  }
}

/** The architecture of this processor that the host library is compiled for. */
export async function hostArchitecture(): Promise<string> {
  if (Deno.build.arch !== "x86_64") return Deno.build.arch;
  const features = await processorFeatures();
  return coversLevel3(features, Deno.build.os) ? "x86-64-v3" : "x86-64";
}
