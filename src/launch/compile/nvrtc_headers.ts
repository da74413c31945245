/**
 * What a source includes, for a compiler that sees no files: every text by a name of its own, and
 * the `#include` lines to match.
 *
 * NVRTC takes headers by name and content and compares names as they are written: `"b.h"` in `d/a.h`
 * is not `d/b.h` to it. So each file gets one name, by which all who include it then do.
 *
 * @module
 */

import { dirname, isAbsolute, join, normalize, relative } from "node:path";
import { CompileError } from "./compile_error.ts";
import type { CompileInputs } from "./compiler.ts";
import { type IncludeDirective, includeDirectives, renameIncludes } from "./include_directives.ts";
import { isSpecial, textOf } from "./readable_files.ts";
import { PRELUDE_NAME, STANDARD_HEADERS } from "./standard_headers.ts";

/** Where headers come from, besides the request. */
export interface HeaderPlaces {
  /** Directories of the program's own, absolute, in the order in which they are searched. */
  readonly directories: readonly string[];
  /** Directories of the toolkit, absolute, likewise. */
  readonly toolkit: readonly string[];
  /** Headers that the source includes before its first line, besides our own. */
  readonly first: readonly string[];
  /** Headers of the toolkit that are included by the names of macros. */
  readonly computed?: readonly string[];
}

/** What a source includes. */
export interface IncludedTexts {
  /** The source, its `#include` lines renamed. */
  readonly source: string;
  /** All headers, by name, likewise. */
  readonly headers: ReadonlyMap<string, string>;
  /** The names of those that are the program's: the rest belongs to the language. */
  readonly own: ReadonlySet<string>;
  /** Their texts as they are on disk, or in the request. */
  readonly originals: ReadonlyMap<string, string>;
}

/** What the output for a source depends on beside the request. */
export interface IncludedIdentity {
  /** Names and texts of files in directories of the program's own, and of this package. */
  readonly texts: readonly string[];
  /** The toolkit's headers that are included from outside the toolkit: paths, sorted. */
  readonly toolkit: readonly string[];
}

/** Who a file belongs to. */
type Owner = "request" | "program" | "package" | "toolkit";

/** A text before it has a name. */
interface Found {
  readonly owner: Owner;
  /** What tells it from all others: a path, or a name. */
  readonly place: string;
  /** The name it should have. */
  readonly name: string;
  readonly text: string;
}

/** A text with its name, and what its `#include` lines lead to. */
interface Entry extends Found {
  readonly targets: Map<string, Entry>;
}

/** Texts of toolkits, which do not change while a process runs, by path. */
const toolkitTexts = new Map<string, Promise<string | undefined>>();

function keyOf({ name, quoted }: IncludeDirective): string {
  return `${quoted ? '"' : "<"}${name}`;
}

/** Follows the includes of one request. */
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

  get entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** Reads all that is included; of the toolkit only what is from outside, if so asked. */
  async follow(intoToolkit: boolean): Promise<void> {
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
      // Named in the order of the lines, so that names do not depend on how fast files are read.
      found.forEach((targets, index) => {
        for (const [key, target] of targets) {
          followed[index]!.targets.set(key, this.#enter(target));
        }
      });
      reached = [...this.#entries.values()].slice(before);
    }
  }

  /** The text of an entry with its `#include` lines as they must be. */
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
    if (from.owner === "package") {
      const found = this.#inPackage(name);
      if (found !== undefined) return found;
    }
    if (quoted) {
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
  async #beside(from: Entry, name: string): Promise<Found | undefined> {
    if (from.owner === "package") return undefined;
    if (from.owner === "request") return this.#inRequest(normalize(join(dirname(from.name), name)));
    const { directories, toolkit } = this.#places;
    const path = join(dirname(from.place), name);
    const roots = from.owner === "program" ? directories : toolkit;
    const root = roots.find((directory) => path.startsWith(`${directory}/`));
    return await this.#onDisk(path, from.owner, root);
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
    if (text === undefined) return this.#unlessSpecial(path);
    return { owner, place: path, name: root === undefined ? path : relative(root, path), text };
  }

  /** The host's compiler would read on, without end. */
  #unlessSpecial(path: string): undefined {
    if (!isSpecial(path)) return undefined;
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

  /** The name it should have, or, where another file has that, one that nobody else takes. */
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

/** Reads all that a source includes, and what that includes, and so on. */
export async function includedTexts(
  request: CompileInputs,
  places: HeaderPlaces,
): Promise<IncludedTexts> {
  const inclusion = new Inclusion(request, places);
  await inclusion.follow(true);
  const entries = [...inclusion.entries];
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

/** Finds what the machine code depends on through includes; does not read through the toolkit. */
export async function includedIdentity(
  request: CompileInputs,
  places: HeaderPlaces,
): Promise<IncludedIdentity> {
  const inclusion = new Inclusion(request, places);
  await inclusion.follow(false);
  const entries = [...inclusion.entries];
  return {
    texts: entries.filter(({ owner }) => owner === "program" || owner === "package")
      .flatMap(({ name, text }) => [name, text]),
    toolkit: entries.filter(({ owner }) => owner === "toolkit").map(({ place }) => place).sort(),
  };
}

/** Names and texts of the files in directories of the program's own that a request includes. */
export async function programIncludes(
  request: CompileInputs,
  places: HeaderPlaces,
): Promise<string[]> {
  const inclusion = new Inclusion(request, places);
  await inclusion.follow(false);
  return [...inclusion.entries].filter(({ owner }) => owner === "program")
    .flatMap(({ name, text }) => [name, text]);
}

/** Where the same files are. */
export async function programPaths(
  request: CompileInputs,
  places: HeaderPlaces,
): Promise<string[]> {
  const inclusion = new Inclusion(request, places);
  await inclusion.follow(false);
  return [...inclusion.entries].filter(({ owner }) => owner === "program")
    .map(({ place }) => place);
}

/** The texts of a toolkit's headers and of all that they include, by path, sorted. */
export async function toolkitClosure(
  paths: readonly string[],
  toolkit: readonly string[],
): Promise<[path: string, text: string][]> {
  const request: CompileInputs = {
    source: paths.map((path) => `#include "${path}"\n`).join(""),
    name: "",
    headers: new Map(),
    defines: new Map(),
    options: [],
    target: { kind: "cuda", capability: "" },
  };
  const inclusion = new Inclusion(request, { directories: [], toolkit, first: [] });
  await inclusion.follow(true);
  return [...inclusion.entries].filter(({ owner }) => owner !== "package")
    .map(({ place, text }) => [place, text] as [string, string])
    .sort(([one], [other]) => one < other ? -1 : 1);
}
