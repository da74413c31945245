/**
 * A kernel source from a file, with the headers that it includes.
 *
 * Compilers see no file that they are not given, so that the compile cache knows everything that
 * the machine code depends on. The headers are therefore looked up here: beside the file, and in
 * the directories of `--include`.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { FileProblem, isAboutFile } from "./file_problem.ts";

/** A source and what it includes. */
export interface KernelSource {
  /** The file's name, as diagnostics call it. */
  readonly name: string;
  /** The file's text. */
  readonly text: string;
  /** The texts of headers, by the names that they are included by. */
  readonly headers: Readonly<Record<string, string>>;
}

const INCLUDE = /^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)/gm;

/** Deeper than any headers are; what includes itself is read once. */
const MOST_HEADERS = 4096;

async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(`Cannot read ${path}: ${error.message}`);
  }
}

/** The names that a text includes, whether or not the preprocessor gets to see them. */
function includedNames(text: string): string[] {
  return [...text.matchAll(INCLUDE)].map(([, quoted, angled]) => quoted ?? angled!);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (isAboutFile(error)) return false;
    throw error;
  }
}

/** The first of the directories that has a file of this name. */
async function findIn(directories: readonly string[], name: string): Promise<string | undefined> {
  for (const directory of directories) {
    const path = join(directory, name);
    if (await isFile(path)) return path;
  }
  return undefined;
}

/** Headers that are still to be looked at: what includes them, and from where. */
interface Included {
  readonly name: string;
  readonly from: string;
}

/**
 * The headers that a text includes, and those that these include. What is found nowhere is left to
 * the compiler, which has headers of its own, or says which line misses it.
 */
async function headersOf(
  path: string,
  text: string,
  directories: readonly string[],
): Promise<Record<string, string>> {
  const paths = new Map<string, string>();
  const headers: Record<string, string> = {};
  const inDirectory = (from: string) => (name: string): Included => ({ name, from });
  const waiting = includedNames(text).map(inDirectory(dirname(path)));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, from } = next;
    // A name that leads out of its directory is none that a virtual header can have.
    if (name.startsWith("/") || name.split("/").includes("..")) continue;
    const found = await findIn([from, ...directories], name);
    if (found === undefined) continue;
    const known = paths.get(name);
    if (known === found) continue;
    if (known !== undefined) {
      throw new FileProblem(
        `Cannot include "${name}" as one name must mean one file: it is ${known} and ${found}`,
      );
    }
    paths.set(name, found);
    if (paths.size > MOST_HEADERS) {
      throw new FileProblem(`Cannot include more than ${MOST_HEADERS} headers from ${path}`);
    }
    const header = await readText(found);
    headers[name] = header;
    waiting.push(...includedNames(header).map(inDirectory(dirname(found))));
  }
  return headers;
}

/**
 * Reads a source and the headers that it includes.
 *
 * @param directories Where headers are looked for besides beside what includes them.
 * @throws {FileProblem} If the file cannot be read, or two headers have one name.
 */
export async function readKernelSource(
  path: string,
  directories: readonly string[],
): Promise<KernelSource> {
  for (const directory of directories) {
    const isDirectory = await Deno.stat(directory).then(
      (status) => status.isDirectory,
      () => false,
    );
    if (!isDirectory) {
      throw new FileProblem(`Cannot include from ${directory} as it is no directory`);
    }
  }
  const text = await readText(path);
  return { name: basename(path), text, headers: await headersOf(path, text, directories) };
}
