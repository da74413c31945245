/**
 * Of which state this package is: it decides what a compiler gets to see of a source.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { PACKAGE_ROOT } from "../../ffi/locate.ts";
import { VERSION } from "../../ffi/version.ts";
import { isThere, namesIn } from "../compile/readable_files.ts";
import { fileStates } from "./file_states.ts";

/** What reads sources and makes requests of them. */
const FOLDERS: readonly string[] = ["src/launch/source", "src/launch/compile"];
const FILES: readonly string[] = [
  "src/launch/module_source.ts",
  "src/launch/module_contents.ts",
  // What is kept of signatures.
  ...[
    "signature",
    "signature_brackets",
    "signature_name",
    "signature_parameter",
    "signature_reader",
    "c_types",
    "vector_types",
  ].map((name) => `src/launch/${name}.ts`),
  "src/memory/dtype.ts",
  // The flags of compilers.
  "src/ffi/build/host_toolchain.ts",
];

let ours: string | undefined;

/** The state of this package, looked for once: what is loaded stays as it is. */
export function packageState(): string {
  ours ??= packageStateIn(PACKAGE_ROOT);
  return ours;
}

/**
 * The version and, in a checkout that somebody may be working in, the state of the files that are in
 * question.
 *
 * @param root The folder of the package's `mod.ts`.
 */
export function packageStateIn(root: URL): string {
  const directory = root.protocol === "file:" ? fileURLToPath(root) : undefined;
  if (directory === undefined || !isThere(`${directory}.git`)) return VERSION;
  const files = [
    ...FOLDERS.flatMap((folder) => filesIn(`${directory}${folder}`)),
    ...FILES.map((file) => `${directory}${file}`),
  ];
  return JSON.stringify([VERSION, files, fileStates(files)?.numbers ?? "not known"]);
}

function filesIn(folder: string): string[] {
  return (namesIn(folder) ?? []).map((name) => `${folder}/${name}`);
}
