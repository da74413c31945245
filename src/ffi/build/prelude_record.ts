/**
 * The precompiled header of kernels for the host device, and when it stands for the headers that it
 * was made of.
 *
 * Of the time that g++ takes for a kernel, more than half goes into reading the language's headers
 * once more. The build leaves them beside the host library as the compiler keeps them in memory.
 * That is only another way to say the same as long as the compiler would find the same files, with
 * the same text, today: a record says which these are, and where else it would have looked for them.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { ABSENT, fileStates, STATE_OWNER, STATE_SLOTS } from "../file_states.ts";
import { sha256 } from "../sha256.ts";
import type { CompilerFamily } from "./compilers.ts";

/** What a prelude is made with. */
export interface PreludeBasis {
  /** The program, after a wrapper if there is one, and before options of its own. */
  readonly command: readonly string[];
  /** The compiler's family. */
  readonly family: CompilerFamily;
  /** All that the compiler says of its version. */
  readonly version: string;
  /** The machine that it compiles for. */
  readonly machine: string;
  /** What kernels are compiled with. */
  readonly flags: readonly string[];
  /** The directory of the language's headers. */
  readonly language: string;
  /** What the environment says to it besides. */
  readonly ambient: readonly string[];
}

/** The files of a prelude. */
export interface PreludeFiles {
  /** A header that includes what every kernel begins with. */
  readonly header: string;
  /** The same, precompiled. */
  readonly compiled: string;
  /** What it was made of. */
  readonly record: string;
}

/** What a prelude was made of. */
export interface PreludeRecord {
  /** What it was made with, as {@linkcode basisText} writes it. */
  readonly basis: string;
  /** The files that the compiler read besides the prelude's own, absolute. */
  readonly files: readonly string[];
  /** The directories where it looks for headers, absolute, in order. */
  readonly directories: readonly string[];
  /** All names that it may have looked for there. */
  readonly names: readonly string[];
  /** SHA-256 of the precompiled header, of these files, and of which names are found where. */
  readonly digest: string;
}

/** Raised when a record means something else than before. */
const SCHEMA = 2;

const encoder = new TextEncoder();

/** Where the prelude of a host library is. */
export function preludeDirectory(library: string): string {
  return join(dirname(library), "host_prelude");
}

/** The files of a prelude, each where its compiler looks for it. */
export function preludeFiles(directory: string, family: CompilerFamily): PreludeFiles {
  return {
    header: join(directory, "prelude.h"),
    compiled: join(directory, family === "gcc" ? "prelude.h.gch" : "prelude.pch"),
    record: join(directory, "record.json"),
  };
}

/** Whether a command has options of its own, as in `CXX="g++ -Iinclude"`. */
function hasOptions(command: readonly string[]): boolean {
  return command.some((word) => word.startsWith("-"));
}

/**
 * What a prelude is made with as one text: two that differ share no prelude.
 *
 * @param directory Where the prelude is.
 */
export function basisText(basis: PreludeBasis, directory: string): string {
  const { command, family, version, machine, flags, language, ambient } = basis;
  return JSON.stringify([
    SCHEMA,
    command,
    // What an option names may be found from here alone.
    hasOptions(command) ? Deno.cwd() : "",
    ...[family, version, machine, flags, language, ambient],
    // clang++ looks for what it has precompiled where that was; g++ does not mind being moved.
    family === "clang" ? directory : "",
  ]);
}

/** The text of a record. */
export function recordText(record: PreludeRecord): string {
  return JSON.stringify(record) + "\n";
}

/** Reads a record; undefined where the text is none. */
export function parseRecord(text: string): PreludeRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  const areTexts = ["basis", "digest"].every((field) => typeof fields[field] === "string");
  const areLists = ["files", "directories", "names"].every((field) => isTextList(fields[field]));
  return areTexts && areLists ? value as PreludeRecord : undefined;
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/**
 * Directories that a name must be added to, or taken from, before the compiler can find another
 * file. They need not be there.
 */
export function searchedPlaces(searched: Searched): string[] {
  return [...new Set(headerPaths(searched).map((path) => dirname(path)))];
}

/** All files that a prelude depends on, its own first. */
export function dependedFiles(
  { compiled, header }: PreludeFiles,
  { files }: Pick<PreludeRecord, "files">,
): string[] {
  return [compiled, header, ...files];
}

/** What has to belong to one user: the prelude's files, its directory, and the library. */
export function ownedPaths(library: string, { compiled, header, record }: PreludeFiles): string[] {
  return [compiled, header, record, dirname(header), library];
}

/**
 * Whether a prelude belongs to whom the library belongs to that it lies beside. It is code as much as
 * that, and where anybody may write, as in `/tmp`, somebody else may have put it there.
 *
 * @throws {Error} What Deno throws where that cannot be told.
 */
export function hasOwnerOf(library: string, files: PreludeFiles): boolean {
  const paths = ownedPaths(library, files);
  const states = fileStates(paths, { followsLinks: true });
  const owners = new Set(paths.map((_, index) => states[index * STATE_SLOTS + STATE_OWNER]));
  return owners.size === 1;
}

/**
 * Whether a precompiled header is the one that was made, and would be made again.
 *
 * @throws {Error} What Deno throws where one of the files cannot be read.
 */
export async function recordHolds(record: PreludeRecord, files: PreludeFiles): Promise<boolean> {
  return await preludeDigest(record, files) === record.digest;
}

/** Directories, and what is looked for in them. */
type Searched = Pick<PreludeRecord, "directories" | "names">;

/** SHA-256 of all that decides whether a prelude holds, as hexadecimal digits. */
export async function preludeDigest(
  record: Omit<PreludeRecord, "basis" | "digest">,
  files: PreludeFiles,
): Promise<string> {
  const paths = headerPaths(record);
  const states = fileStates(paths, { followsLinks: true });
  const found = paths.filter((_, index) => states[index * STATE_SLOTS] !== ABSENT);
  const digests = await Promise.all(
    dependedFiles(files, record).map(async (file) => {
      return await hexDigest(await Deno.readFile(file));
    }),
  );
  return await hexDigest(encoder.encode(JSON.stringify([record.files, found, digests])));
}

async function hexDigest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return (await sha256(bytes)).toHex();
}

/** Where a header may be that is looked for. */
function headerPaths({ directories, names }: Searched): string[] {
  return directories.flatMap((directory) => names.map((name) => join(directory, name)));
}
