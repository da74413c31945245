/**
 * Writes `src/ffi/build/manifest.ts` anew from the files in `csrc/`.
 *
 * ```sh
 * deno run --allow-read --allow-write .ci/manifest.ts
 * ```
 *
 * @module
 */

const ROOT = new URL("../", import.meta.url);
const MANIFEST = new URL("src/ffi/build/manifest.ts", ROOT);

/**
 * Files that are compiled, included or read by the linker. The names of C++ standard headers have no
 * extension.
 */
const SOURCE = /\.(?:h|cuh|cu|cpp|map)$|^[a-z]+$/;

/** The native sources below a folder, relative to the repository, in order. */
export function nativeSources(folder = "csrc"): string[] {
  const files = [...Deno.readDirSync(new URL(`${folder}/`, ROOT))].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) return nativeSources(path);
    return SOURCE.test(entry.name) ? [path] : [];
  });
  return files.sort();
}

function manifestText(files: readonly string[]): string {
  return `/**
 * The native sources and headers. A package imported over the network cannot list its own files,
 * so the list is part of it; \`tests/style/manifest_test.ts\` compares it with \`csrc/\`.
 *
 * Written by \`deno run --allow-read --allow-write .ci/manifest.ts\`.
 *
 * @module
 */

/** Every file that is compiled, included or read by the linker, relative to the folder of \`mod.ts\`. */
export const MANIFEST: readonly string[] = [
${files.map((file) => `  ${JSON.stringify(file)},\n`).join("")}];
`;
}

if (import.meta.main) Deno.writeTextFileSync(MANIFEST, manifestText(nativeSources()));
