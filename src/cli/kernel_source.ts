/**
 * A kernel source from a file, with the headers that it includes, on the command line.
 *
 * @module
 */

import { type KernelFile, readKernelFile } from "../../mod.ts";
import { FileProblem, isAboutFile } from "./file_problem.ts";

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch (error) {
    if (isAboutFile(error)) return false;
    throw error;
  }
}

/**
 * Reads a source and the headers that it includes.
 *
 * @param directories Where headers are looked for besides beside what includes them.
 * @throws {FileProblem} If the file cannot be read, or there is no such directory.
 */
export async function readKernelSource(
  path: string,
  directories: readonly string[],
): Promise<KernelFile> {
  for (const directory of directories) {
    if (await isDirectory(directory)) continue;
    throw new FileProblem(`Cannot include from ${directory} as it is no directory`);
  }
  try {
    return await readKernelFile(path, { include: directories });
  } catch (error) {
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(error.message);
  }
}
