/**
 * Resolves the `#include` lines of a source, for the key of the cache and for NVRTC.
 *
 * NVRTC reads no files. It takes headers by name and text and compares names as they are written:
 * to NVRTC, `"b.h"` in `d/a.h` is not `d/b.h`. Each file therefore gets one name, and all
 * `#include` lines that lead to the file are changed to that name.
 *
 * Conditions are not evaluated and comments not skipped: a line that no compiler would follow costs
 * the reading of one more file.
 *
 * @module
 */

import { dirname, isAbsolute, join, normalize, relative } from "node:path";
import { CompileError } from "./compile_error.ts";
import type { CompileInputs } from "./compiler.ts";
import { fileState, statOf, textOf } from "./files.ts";
import { PRELUDE_NAME, STANDARD_HEADERS } from "./standard_headers.ts";

/** An `#include` line. */
export interface IncludeDirective {
  readonly name: string;
  /** Whether the name is in quotes: the search then begins beside the including file. */
  readonly quoted: boolean;
}

const DIRECTIVE = /^([ \t]*#[ \t]*include[ \t]*)(?:"([^"\n\r]+)"|<([^>\n\r]+)>)/gm;

/** The `#include` lines of a source, in order, without those that name a macro. */
export function includeDirectives(source: string): IncludeDirective[] {
  return [...source.matchAll(DIRECTIVE)].map(([, , quoted, angled]) => ({
    name: (quoted ?? angled)!,
    quoted: quoted !== undefined,
  }));
}

/**
 * Replaces the names in the `#include` lines of a source.
 *
 * @param rename Returns the new name, or undefined to leave the line alone.
 */
export function renameIncludes(
  source: string,
  rename: (directive: IncludeDirective) => string | undefined,
): string {
  return source.replace(DIRECTIVE, (line, head: string, quoted?: string, angled?: string) => {
    const name = rename({ name: (quoted ?? angled)!, quoted: quoted !== undefined });
    return name === undefined ? line : `${head}"${name}"`;
  });
}

/** A header's name that is no absolute path. */
const RELATIVE = /^(?:"[^/"][^"]*"|<[^/>][^>]*>)$/;

/** Strings, which stay, and comments, which do not. */
const STRING_OR_COMMENT = /"(?:[^"\\\n]|\\.)*"|\/\*[^]*?\*\/|\/\/.*/g;

/**
 * Whether texts may include an absolute path that {@linkcode includeDirectives} does not see: by a
 * macro, or with a comment or a continued line inside the directive. NVRTC opens such a file.
 *
 * @param texts The source and the program's own headers.
 * @param defines Macros and their values.
 */
export function hidesIncludes(
  texts: readonly string[],
  defines: ReadonlyMap<string, string>,
): boolean {
  const visible = new Set(texts.flatMap(includeDirectives).map(({ name }) => name));
  const plain = texts.map((text) =>
    text.replaceAll(/\\\r?\n/g, "")
      .replaceAll(STRING_OR_COMMENT, (found) => found[0] === "/" ? " " : found)
      .replaceAll(/^[ \t]*%:/gm, "#")
  ).join("\n");
  const included = [...plain.matchAll(/^[ \t]*#[ \t]*(?:include|include_next|import)\b(.*)$/gm)]
    .map(([, rest]) => rest!.trim());
  return included.some((rest) => {
    if (RELATIVE.test(rest) || visible.has(rest.slice(1, -1))) return false;
    if (!/^\w+$/.test(rest)) return true;
    const definition = new RegExp(`^[ \\t]*#[ \\t]*define[ \\t]+${rest}[ \\t]+(.*)$`, "gm");
    const values = [...plain.matchAll(definition)].map(([, value]) => value!.trim());
    if (defines.has(rest)) values.push(defines.get(rest)!);
    return values.length === 0 || !values.every((value) => RELATIVE.test(value));
  });
}

/** The places that are searched for headers, besides the request. */
export interface HeaderPlaces {
  /** Directories of the program, absolute, in the order of the search. */
  readonly directories: readonly string[];
  /** Directories of the toolkit, absolute, likewise. */
  readonly toolkit: readonly string[];
  /** Headers that are included before the first line of the source. */
  readonly first: readonly string[];
  /** Headers of the toolkit that are included by macros. */
  readonly computed?: readonly string[];
}

/** The source and its headers for a compiler that reads no files. */
export interface IncludedTexts {
  /** The source with changed `#include` lines. */
  readonly source: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly own: ReadonlySet<string>;
  readonly originals: ReadonlyMap<string, string>;
}

/** A text before it has a name. */
interface Found {
  readonly owner: "request" | "program" | "package" | "toolkit";
  /** The path, or the name of a text without one. */
  readonly place: string;
  readonly name: string;
  readonly text: string;
}

/** A text with its name and the targets of its `#include` lines. */
interface Entry extends Found {
  readonly targets: Map<string, Entry>;
}

/** Texts of toolkits by path: they do not change while a process runs. */
const toolkitTexts = new Map<string, Promise<string | undefined>>();

function keyOf({ name, quoted }: IncludeDirective): string {
  return `${quoted ? '"' : "<"}${name}`;
}

/** The include graph of one request. */
class Inclusion {
  readonly #request: CompileInputs;
  readonly #places: HeaderPlaces;
  readonly #virtual: ReadonlyMap<string, string>;
  readonly #entries = new Map<string, Entry>();
  readonly #names = new Map<string, Entry>();
  readonly source: Entry;

  constructor(request: CompileInputs, places: HeaderPlaces) {
    this.#request = request;
    this.#places = places;
    this.#virtual = new Map([...request.headers].map(([name, text]) => [normalize(name), text]));
    const { name, source } = request;
    this.source = { owner: "request", place: "", name, text: source, targets: new Map() };
  }

  get entries(): Entry[] {
    return [...this.#entries.values()];
  }

  /**
   * Reads all included files.
   *
   * @param intoToolkit Whether to follow the includes of the toolkit's own headers.
   */
  async follow(intoToolkit: boolean): Promise<this> {
    // The program's names come first: nothing else may take them.
    let reached = [...this.#virtual.keys()].map((name) => this.#enter(this.#inRequest(name)!));
    reached.push(this.source, this.#enter(this.#prelude()));
    for (const name of this.#places.computed ?? []) {
      const found = await this.#inToolkit(name);
      if (found !== undefined) reached.push(this.#enter(found));
    }
    while (reached.length > 0) {
      const followed = reached.filter(({ owner }) => intoToolkit || owner !== "toolkit");
      const found = await Promise.all(followed.map((entry) => this.#findTargets(entry)));
      const before = this.#entries.size;
      // In the order of the lines: names must not depend on the speed of the disk.
      found.forEach((targets, index) => {
        for (const [key, target] of targets) {
          followed[index]!.targets.set(key, this.#enter(target));
        }
      });
      reached = this.entries.slice(before);
    }
    return this;
  }

  /** The text of an entry with changed `#include` lines. */
  renamed({ text, targets }: Entry): string {
    return renameIncludes(text, (directive) => {
      const target = targets.get(keyOf(directive));
      return target === undefined || target.name === directive.name ? undefined : target.name;
    });
  }

  #prelude(): Found {
    const first = this.#places.first.map((name) => `#include "${name}"\n`);
    const text = STANDARD_HEADERS.get(PRELUDE_NAME)! + first.join("");
    return { owner: "package", place: PRELUDE_NAME, name: PRELUDE_NAME, text };
  }

  async #findTargets(entry: Entry): Promise<[string, Found][]> {
    const directives = new Map(includeDirectives(entry.text).map((it) => [keyOf(it), it]));
    const found = await Promise.all([...directives].map(async ([key, directive]) => {
      const target = await this.#find(entry, directive);
      return target === undefined ? [] : [[key, target] as [string, Found]];
    }));
    return found.flat();
  }

  async #find(from: Entry, { name, quoted }: IncludeDirective): Promise<Found | undefined> {
    if (isAbsolute(name)) return this.#inRequest(name) ?? await this.#onDisk(name, "program");
    if (from.owner === "package" && STANDARD_HEADERS.has(name)) return this.#inPackage(name);
    if (quoted && from.owner !== "package") {
      const beside = await this.#beside(from, name);
      if (beside !== undefined) return beside;
    }
    const inRequest = this.#inRequest(normalize(name));
    if (inRequest !== undefined) return inRequest;
    for (const directory of this.#places.directories) {
      const found = await this.#onDisk(join(directory, name), "program", directory);
      if (found !== undefined) return found;
    }
    return this.#inPackage(name) ?? await this.#inToolkit(name);
  }

  async #inToolkit(name: string): Promise<Found | undefined> {
    for (const directory of this.#places.toolkit) {
      const found = await this.#onDisk(join(directory, name), "toolkit", directory);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A file beside the one that includes it. */
  async #beside({ owner, name: from, place }: Entry, name: string): Promise<Found | undefined> {
    if (owner === "request") return this.#inRequest(normalize(join(dirname(from), name)));
    const { directories, toolkit } = this.#places;
    const path = join(dirname(place), name);
    const roots = owner === "program" ? directories : toolkit;
    const root = roots.find((directory) => path.startsWith(`${directory}/`));
    return await this.#onDisk(path, owner === "program" ? owner : "toolkit", root);
  }

  #inRequest(name: string): Found | undefined {
    const text = this.#virtual.get(name);
    return text === undefined ? undefined : { owner: "request", place: name, name, text };
  }

  #inPackage(name: string): Found | undefined {
    const text = STANDARD_HEADERS.get(name);
    return text === undefined ? undefined : { owner: "package", place: name, name, text };
  }

  async #onDisk(
    path: string,
    owner: "program" | "toolkit",
    root?: string,
  ): Promise<Found | undefined> {
    const text = owner === "program" ? await textOf(path) : await toolkitText(path);
    if (text !== undefined) {
      return { owner, place: path, name: root === undefined ? path : relative(root, path), text };
    }
    const found = statOf(path);
    if (found === undefined || found.isFile || found.isDirectory) return undefined;
    // A device or a pipe, such as /dev/zero: the host's compiler would read on without end.
    const message = `cannot include ${path} as it must be a file`;
    throw new CompileError(this.#request.name, "Gridstride", [{ severity: "error", message }], "");
  }

  #enter(found: Found): Entry {
    const key = `${found.owner === "program" ? "toolkit" : found.owner}:${found.place}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry = { ...found, name: this.#freeName(found), targets: new Map() };
    this.#entries.set(key, entry);
    this.#names.set(entry.name, entry);
    return entry;
  }

  /** The preferred name, or a unique one where another file has that name. */
  #freeName({ name, place, owner }: Found): string {
    if (name !== this.#request.name && !this.#names.has(name)) return name;
    return owner === "package" ? `gridstride/${name}` : place;
  }
}

function toolkitText(path: string): Promise<string | undefined> {
  const known = toolkitTexts.get(path);
  if (known !== undefined) return known;
  const read = textOf(path);
  toolkitTexts.set(path, read);
  return read;
}

/** Reads all headers of a source, for NVRTC. */
export async function includedTexts(
  request: CompileInputs,
  places: HeaderPlaces,
): Promise<IncludedTexts> {
  const inclusion = await new Inclusion(request, places).follow(true);
  const { entries } = inclusion;
  const isOwn = ({ owner }: Found) => owner === "request" || owner === "program";
  return {
    source: inclusion.renamed(inclusion.source),
    headers: new Map(entries.map((entry) => [entry.name, inclusion.renamed(entry)])),
    own: new Set([request.name, ...entries.filter(isOwn).map(({ name }) => name)]),
    originals: new Map([
      [request.name, request.source],
      ...entries.map(({ name, text }) => [name, text] as const),
    ]),
  };
}

/**
 * The headers that a request includes besides its own: names and texts, and of a toolkit the states
 * of the files that the program includes. A toolkit is installed as a whole, so the headers behind
 * these change only with them.
 */
export async function includedIdentity(
  request: CompileInputs,
  places: HeaderPlaces,
): Promise<string[]> {
  const { entries } = await new Inclusion(request, places).follow(false);
  return [
    ...entries.filter(({ owner }) => owner === "program" || owner === "package")
      .flatMap(({ name, text }) => [name, text]),
    ...entries.filter(({ owner }) => owner === "toolkit").map(({ place }) => fileState(place))
      .sort(),
  ];
}

/** The files in directories of the program that a request includes: names, texts and paths. */
export async function programFiles(
  request: CompileInputs,
  places: HeaderPlaces,
): Promise<{ readonly name: string; readonly text: string; readonly place: string }[]> {
  const { entries } = await new Inclusion(request, places).follow(false);
  return entries.filter(({ owner }) => owner === "program");
}
