/**
 * The CUDA toolkit of this machine, for tests that compare our tables with its headers.
 *
 * @module
 */

function toolkitDirectories(): string[] {
  const named = ["CUDA_HOME", "CUDA_PATH"].map((variable) => Deno.env.get(variable));
  return [
    ...named.filter((path) => path !== undefined && path !== ""),
    "/usr/local/cuda",
  ] as string[];
}

/** The directory of the toolkit's headers; undefined if it lacks the header named. */
export function toolkitHeaders(header: string): string | undefined {
  const directories = toolkitDirectories().map((directory) => `${directory}/include`);
  return directories.find((directory) => {
    try {
      return Deno.statSync(`${directory}/${header}`).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  });
}

/** The text of a header of the toolkit; undefined if there is none. */
export function toolkitHeader(header: string): string | undefined {
  const directory = toolkitHeaders(header);
  return directory === undefined ? undefined : Deno.readTextFileSync(`${directory}/${header}`);
}
