/**
 * Of which state this package is: it decides what a compiler gets to see of a source.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { PACKAGE_ROOT } from "../../ffi/locate.ts";
import { VERSION } from "../../ffi/version.ts";
import { mayRead } from "../compile/readable_files.ts";
import { isFileProblem } from "./file_problem.ts";
import { fileStates, stateText } from "./file_states.ts";

/** What reads sources and makes requests of them. */
const FOLDERS: readonly string[] = [
  "src/launch/source",
  "src/launch/compile",
  "src/launch/signature",
];
const FILES: readonly string[] = [
  "src/launch/module_source.ts",
  "src/launch/module_contents.ts",
  "src/memory/dtype.ts",
  // The flags of compilers, their environment, and what they begin with.
  ...["host_toolchain", "compiler_environment", "dependency_rule", "prelude_record"].map((name) =>
    `src/ffi/build/${name}.ts`
  ),
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
  if (directory === undefined || !mayRead(directory)) return VERSION;
  if (fileStates([`${directory}.git`]) === undefined) return VERSION;
  return JSON.stringify([VERSION, ...(filesAndState(directory) ?? ["not known"])]);
}

/** The files that are in question and their state; undefined where one of them is not there. */
function filesAndState(directory: string): [readonly string[], string] | undefined {
  const files = FILES.map((file) => `${directory}${file}`);
  try {
    for (const folder of FOLDERS) {
      const names = Array.from(Deno.readDirSync(`${directory}${folder}`), ({ name }) => name);
      for (const name of names.sort()) files.push(`${directory}${folder}/${name}`);
    }
  } catch (error) {
    if (isFileProblem(error)) return undefined;
    throw error;
  }
  const states = fileStates(files);
  return states === undefined ? undefined : [files, stateText(states)];
}
