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

/** An `#include` line: its head, and the name in quotes or brackets. */
const DIRECTIVE = /^([ \t]*#[ \t]*include[ \t]*)("[^"\n\r]+"|<[^>\n\r]+>)/gm;

/**
 * The names in the `#include` lines of a source, in quotes or brackets, in order; without lines that
 * name a macro.
 */
export function includedNames(source: string): string[] {
  return [...source.matchAll(DIRECTIVE)].map(([, , name]) => name!);
}

/** A macro that is the name of a header, in quotes or brackets. */
const NAMING_MACRO = /^[ \t]*(?:#|%:)[ \t]*define[ \t]+\w+[ \t]+("[^"\n\r]+"|<[^>\n\r]+>)[ \t]*$/gm;

/** Strings, which stay, and comments, which do not. */
const STRING_OR_COMMENT = /"(?:[^"\\\n]|\\.)*"|\/\*[^]*?\*\/|\/\/.*/g;

/**
 * Whether texts may include an absolute path that {@linkcode includedNames} does not see: by a
 * macro, or with a comment or a continued line inside the directive. NVRTC opens such a file.
 *
 * @param texts The source and the program's own headers.
 */
export function hidesIncludes(texts: readonly string[]): boolean {
  return texts.some((text) => {
    const visible = new Set(includedNames(text));
    const directives = /^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)\b(.*)$/gm;
    return [...plainText(text).matchAll(directives)].map(([, rest]) => rest!.trim())
      .some((name) => !visible.has(name) && !/^(?:"[^/"][^"]*"|<[^/>][^>]*>)$/.test(name));
  });
}

/** A text without comments and continued lines. */
function plainText(text: string): string {
  return text.replaceAll(/\\\r?\n/g, "")
    .replaceAll(STRING_OR_COMMENT, (found) => found[0] === "/" ? " " : found);
}

/** Each form in which a compiler opens a header, with its name or the macro that names it. */
const OPENING =
  /(?:^[ \t]*(?:#|%:)[ \t]*(?:include_next|include|import)|\b__has_include(?:_next)?[ \t]*\()[ \t]*("[^"\n\r]+"|<[^>\n\r]+>|[A-Za-z_])/gm;

/**
 * The names of all files that a compiler may open for a text, in quotes or brackets: also for
 * `__has_include()`, `#include_next`, `#import` and macros.
 */
function openedNames(text: string, macros: readonly string[]): string[] {
  const names = [...plainText(text).matchAll(OPENING)].map(([, name]) => name!);
  return names.flatMap((name) => /^["<]/.test(name) ? [name] : macros);
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
    const reached = new Set([
      ...[...this.#virtual.keys()].map((name) => this.#enter(this.#inRequest(name)!)),
      this.source,
      this.#enter({ owner: "package", place: PRELUDE_NAME, name: PRELUDE_NAME, text: prelude }),
      ...(places.computed ?? []).flatMap((name) => this.#inDirectories(name, "toolkit") ?? [])
        .map((found) => this.#enter(found)),
    ]);
    // The loop visits added entries too.
    const macros = [...request.defines.values()].map((value) => `#define M ${value}`).join("\n");
    const own = [...request.headers.values(), text, macros];
    const named = own.flatMap((one) => [...one.matchAll(NAMING_MACRO)].map(([, name]) => name!));
    for (const entry of reached) {
      if (entry.owner === "toolkit" && !intoToolkit) continue;
      if (entry.owner === "request" || entry.owner === "program") this.#refuseDevices(entry, named);
      for (const name of includedNames(entry.text)) {
        const found = this.#find(entry, name.slice(1, -1), name.startsWith('"'));
        if (found === undefined) continue;
        const target = this.#enter(found);
        entry.targets.set(name, target.name);
        reached.add(target);
      }
    }
  }

  get entries(): Entry[] {
    return [...this.#entries.values()];
  }

  /** The text of an entry with changed `#include` lines. */
  renamed({ text, targets }: Entry): string {
    return text.replace(DIRECTIVE, (line, head: string, name: string) => {
      const target = targets.get(name) ?? name.slice(1, -1);
      return target === name.slice(1, -1) ? line : `${head}"${target}"`;
    });
  }

  #find(from: Entry, name: string, isQuoted: boolean): Found | undefined {
    if (isAbsolute(name)) return this.#inRequest(name) ?? this.#onDisk(name, "program");
    if (from.owner === "package" && STANDARD_HEADERS.has(name)) return this.#inPackage(name);
    return (isQuoted ? this.#beside(from, name) : undefined) ?? this.#inRequest(normalize(name)) ??
      this.#inDirectories(name, "program") ?? this.#inPackage(name) ??
      this.#inDirectories(name, "toolkit");
  }

  #roots(owner: "program" | "toolkit"): readonly string[] {
    return owner === "program" ? this.#places.directories : this.#places.toolkit;
  }

  #inDirectories(name: string, owner: "program" | "toolkit"): Found | undefined {
    for (const directory of this.#roots(owner)) {
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
    return this.#onDisk(
      path,
      owner,
      this.#roots(owner).find((root) => path.startsWith(`${root}/`)),
    );
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
    const isKnown = owner === "toolkit" && toolkitTexts.has(path);
    const text = isKnown ? toolkitTexts.get(path) : textOf(path);
    if (owner === "toolkit") toolkitTexts.set(path, text);
    if (text !== undefined) {
      return { owner, place: path, name: root === undefined ? path : relative(root, path), text };
    }
    if (!isKnown) this.#refuseDevice(path);
    return undefined;
  }

  /** Refuses a device or pipe that a compiler would open: it would wait, or read on without end. */
  #refuseDevices({ owner, place, text }: Entry, macros: readonly string[]): void {
    const folders = [...owner === "program" ? [dirname(place)] : [], ...this.#places.directories];
    for (const name of openedNames(text, macros).map((name) => name.slice(1, -1))) {
      for (const path of isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name))) {
        this.#refuseDevice(path);
      }
    }
  }

  #refuseDevice(path: string): void {
    const found = statOf(path);
    if (found === undefined || found.isFile || found.isDirectory) return;
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

/** Reads all headers of a source, for NVRTC. */
export function includedTexts(request: CompileInputs, places: HeaderPlaces): IncludedTexts {
  const inclusion = new Inclusion(request, places, true);
  const { entries, source } = inclusion;
  const own = entries.filter(({ owner }) => owner === "request" || owner === "program");
  return {
    source: inclusion.renamed(source),
    headers: new Map(entries.map((entry) => [entry.name, inclusion.renamed(entry)])),
    own: new Set([source, ...own].map(({ name }) => name)),
    originals: new Map([source, ...entries].map(({ name, text }) => [name, text])),
  };
}

/**
 * The files on the disk that a request includes. Headers of a toolkit are not followed: a toolkit is
 * installed as a whole, so the headers behind these change only with them.
 */
export function filesOnDisk(request: CompileInputs, places: HeaderPlaces): readonly Found[] {
  const { entries } = new Inclusion(request, places, false);
  return entries.filter(({ owner }) => owner === "program" || owner === "toolkit");
}

/** The identity of these files: names and texts, and of a toolkit the states of the files. */
export function identityOf(files: readonly Found[]): string[] {
  return files.flatMap(({ owner, name, text, place }) =>
    owner === "toolkit" ? [fileState(place)] : [name, text]
  );
}
