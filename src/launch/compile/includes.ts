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

/** A text with its name, and the names that replace those in its `#include` lines. */
interface Entry extends Found {
  readonly targets: Map<string, string>;
}

/** Texts of toolkits by path: they do not change while a process runs. */
const toolkitTexts = new Map<string, string | undefined>();

function keyOf({ name, quoted }: IncludeDirective): string {
  return `${quoted ? '"' : "<"}${name}`;
}

/** The include graph of one request. */
class Inclusion {
  readonly #request: CompileInputs;
  readonly #places: HeaderPlaces;
  readonly #virtual: ReadonlyMap<string, string>;
  readonly #entries = new Map<string, Entry>();
  readonly #names = new Set<string>();
  readonly source: Entry;

  /**
   * Reads all included files.
   *
   * @param intoToolkit Whether to follow the includes of the toolkit's own headers.
   */
  constructor(request: CompileInputs, places: HeaderPlaces, intoToolkit: boolean) {
    this.#request = request;
    this.#places = places;
    this.#virtual = new Map([...request.headers].map(([name, text]) => [normalize(name), text]));
    const { name, source: text } = request;
    this.source = { owner: "request", place: "", name, text, targets: new Map() };
    const first = places.first.map((name) => `#include "${name}"\n`);
    const prelude = STANDARD_HEADERS.get(PRELUDE_NAME)! + first.join("");
    // The program's names come first: nothing else may take them.
    const reached = [
      ...[...this.#virtual.keys()].map((name) => this.#enter(this.#inRequest(name)!)),
      this.source,
      this.#enter({ owner: "package", place: PRELUDE_NAME, name: PRELUDE_NAME, text: prelude }),
      ...(places.computed ?? []).flatMap((name) => this.#inToolkit(name) ?? [])
        .map((found) => this.#enter(found)),
    ];
    const known = new Set(reached);
    for (const entry of reached) {
      if (entry.owner === "toolkit" && !intoToolkit) continue;
      for (const directive of includeDirectives(entry.text)) {
        const found = this.#find(entry, directive);
        if (found === undefined) continue;
        const target = this.#enter(found);
        entry.targets.set(keyOf(directive), target.name);
        if (!known.has(target)) reached.push(target);
        known.add(target);
      }
    }
  }

  get entries(): Entry[] {
    return [...this.#entries.values()];
  }

  /** The text of an entry with changed `#include` lines. */
  renamed({ text, targets }: Entry): string {
    return renameIncludes(text, (directive) => {
      const target = targets.get(keyOf(directive));
      return target === directive.name ? undefined : target;
    });
  }

  #find(from: Entry, { name, quoted }: IncludeDirective): Found | undefined {
    if (isAbsolute(name)) return this.#inRequest(name) ?? this.#onDisk(name, "program");
    if (from.owner === "package" && STANDARD_HEADERS.has(name)) return this.#inPackage(name);
    return (quoted ? this.#beside(from, name) : undefined) ?? this.#inRequest(normalize(name)) ??
      this.#inDirectories(name, "program") ?? this.#inPackage(name) ?? this.#inToolkit(name);
  }

  #inToolkit(name: string): Found | undefined {
    return this.#inDirectories(name, "toolkit");
  }

  #inDirectories(name: string, owner: "program" | "toolkit"): Found | undefined {
    const directories = owner === "program" ? this.#places.directories : this.#places.toolkit;
    for (const directory of directories) {
      const found = this.#onDisk(join(directory, name), owner, directory);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A file beside the one that includes it. */
  #beside({ owner, name: from, place }: Entry, name: string): Found | undefined {
    if (owner === "package") return undefined;
    if (owner === "request") return this.#inRequest(normalize(join(dirname(from), name)));
    const path = join(dirname(place), name);
    const roots = owner === "program" ? this.#places.directories : this.#places.toolkit;
    return this.#onDisk(path, owner, roots.find((root) => path.startsWith(`${root}/`)));
  }

  #inRequest(name: string): Found | undefined {
    const text = this.#virtual.get(name);
    return text === undefined ? undefined : { owner: "request", place: name, name, text };
  }

  #inPackage(name: string): Found | undefined {
    const text = STANDARD_HEADERS.get(name);
    return text === undefined ? undefined : { owner: "package", place: name, name, text };
  }

  #onDisk(path: string, owner: "program" | "toolkit", root?: string): Found | undefined {
    const text = owner === "toolkit" ? toolkitText(path) : textOf(path);
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
    const { owner, place } = found;
    const key = `${owner === "program" ? "toolkit" : owner}:${place}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    // Another file may have the preferred name.
    const isTaken = found.name === this.#request.name || this.#names.has(found.name);
    const unique = owner === "package" ? `gridstride/${found.name}` : place;
    const entry = { ...found, name: isTaken ? unique : found.name, targets: new Map() };
    this.#entries.set(key, entry);
    this.#names.add(entry.name);
    return entry;
  }
}

function toolkitText(path: string): string | undefined {
  if (!toolkitTexts.has(path)) toolkitTexts.set(path, textOf(path));
  return toolkitTexts.get(path);
}

/** Reads all headers of a source, for NVRTC. */
export function includedTexts(request: CompileInputs, places: HeaderPlaces): IncludedTexts {
  const inclusion = new Inclusion(request, places, true);
  const { entries } = inclusion;
  const own = entries.filter(({ owner }) => owner === "request" || owner === "program");
  return {
    source: inclusion.renamed(inclusion.source),
    headers: new Map(entries.map((entry) => [entry.name, inclusion.renamed(entry)])),
    own: new Set([request.name, ...own.map(({ name }) => name)]),
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
export function includedIdentity(request: CompileInputs, places: HeaderPlaces): string[] {
  return new Inclusion(request, places, false).entries.flatMap(({ owner, name, text, place }) => {
    if (owner === "toolkit") return [fileState(place)];
    // The key of the cache has the request and this package's version.
    return owner === "program" ? [name, text] : [];
  });
}

/** The files in directories of the program that a request includes: names, texts and paths. */
export function programFiles(
  request: CompileInputs,
  places: HeaderPlaces,
): { readonly name: string; readonly text: string; readonly place: string }[] {
  return new Inclusion(request, places, false).entries.filter(({ owner }) => owner === "program");
}
