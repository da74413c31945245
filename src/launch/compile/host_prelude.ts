/**
 * The precompiled header that a build has left beside the host library, where it changes nothing
 * about a compilation but the time that it takes.
 *
 * It stands for the headers of the language as long as these, and all files that they include, are
 * what they were, and are what the compiler would find for this request. Of macros that a request
 * defines g++ knows which ones the headers would have seen, and then reads the headers themselves;
 * clang++ takes its precompiled headers as they are, and so gets none with a macro.
 *
 * @module
 */

import {
  basisText,
  dependedFiles,
  hasOwnerOf,
  ownedPaths,
  parseRecord,
  type PreludeBasis,
  preludeDirectory,
  type PreludeFiles,
  preludeFiles,
  type PreludeRecord,
  recordHolds,
  searchedPlaces,
} from "../../ffi/build/prelude_record.ts";
import { logger } from "../../ffi/logging.ts";
import { rememberedIdentity } from "../cache/compiler_identity.ts";
import { isFileProblem } from "../cache/file_problem.ts";
import { fileStates } from "../cache/file_states.ts";
import type { CompileRequest } from "./compiler.ts";
import { textOf } from "./readable_files.ts";

/** A precompiled header that a compilation may begin with. */
export interface HostPrelude {
  /** What has the compiler begin with it. */
  readonly arguments: readonly string[];
  /** Whether nothing about it has changed since it was found: a build may have made another one. */
  stillHolds(): Promise<boolean>;
  /** Says that the compiler failed for it: this process uses it no more. */
  refuse(): void;
}

/** Precompiled headers, by file and digest, that a compiler of this process has failed for. */
const refused = new Set<string>();

/**
 * The precompiled header for a request; undefined where there is none that may be used. Nobody is
 * prompted, and nothing that is wrong with it is an error.
 *
 * @param library The file of the host library.
 * @param basis What the request is compiled with.
 */
export async function findPrelude(
  library: string,
  basis: PreludeBasis,
  request: CompileRequest,
): Promise<HostPrelude | undefined> {
  if (!isPlain(request, basis)) return undefined;
  const directory = preludeDirectory(library);
  const files = preludeFiles(directory, basis.family);
  const record = await recordIn(files);
  if (record?.basis !== basisText(basis, directory)) return undefined;
  // What a later build makes in its place is another one.
  const identity = `${files.compiled} ${record.digest}`;
  if (refused.has(identity)) return undefined;
  const stillHolds = () => holds(record, files, library);
  if (isHidden(record, request) || !await stillHolds()) return undefined;
  return {
    stillHolds,
    arguments: basis.family === "gcc"
      ? ["-include", files.header]
      : ["-include-pch", files.compiled],
    refuse: () => {
      refused.add(identity);
      logger("launch").debug("kernels are compiled without {file}, as the compiler fails with it", {
        file: files.compiled,
      });
    },
  };
}

/** Whether the compiler is told nothing that it was not told for the precompiled header. */
function isPlain({ options, defines }: CompileRequest, { family }: PreludeBasis): boolean {
  return options.length === 0 && (family === "gcc" || defines.size === 0);
}

/** Whether a header of the request would have been found for one that the prelude looked for. */
function isHidden({ names }: PreludeRecord, { headers }: CompileRequest): boolean {
  if (headers.size === 0) return false;
  // To some file systems letters are the same in both cases.
  const hiding = new Set(Array.from(headers.keys(), (name) => name.toLowerCase()));
  return names.some((name) => hiding.has(name.toLowerCase()));
}

/** The last record that was read: mostly there is one, which stays the same. */
let last: { readonly text: string; readonly record: PreludeRecord | undefined } | undefined;

async function recordIn({ record }: PreludeFiles): Promise<PreludeRecord | undefined> {
  const text = await textOf(record);
  if (text === undefined) return undefined;
  if (last?.text !== text) last = { text, record: parseRecord(text) };
  return last.record;
}

/** Whether all is as it was when the prelude was made: by content once, and by states from then on. */
async function holds(
  record: PreludeRecord,
  own: PreludeFiles,
  library: string,
): Promise<boolean> {
  const files = [...new Set([...ownedPaths(library, own), ...dependedFiles(own, record)])];
  const basis = {
    subject: "the precompiled header of the host device",
    settings: [own.compiled, record.basis, record.digest],
    files: () => Promise.resolve({ files, places: searchedPlaces(record) }),
  };
  const [answer] = await rememberedIdentity(basis, async () => [
    await holdsByContent(record, own, library, files) ? "holds" : "does not hold",
  ]);
  return answer === "holds";
}

async function holdsByContent(
  record: PreludeRecord,
  own: PreludeFiles,
  library: string,
  files: readonly string[],
): Promise<boolean> {
  // Also tells that all of them may be read without a prompt.
  if (fileStates(files, searchedPlaces(record)) === undefined) return false;
  try {
    return hasOwnerOf(library, own) && await recordHolds(record, own);
  } catch (error) {
    if (isFileProblem(error)) return false;
    throw error;
  }
}
