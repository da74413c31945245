import { assertEquals } from "@std/assert";
import { filesBelow, importsOf, type ModuleImport, packageModules, textOf } from "./repository.ts";

/** The layers, lowest first; those of one entry do not import each other. */
const ORDER: readonly (readonly string[])[] = [
  ["ffi"],
  ["hardware"],
  ["stream"],
  ["memory"],
  ["launch"],
  ["kernels"],
  ["tensor"],
  ["ternary"],
  ["bitnet", "distributed"],
  ["device"],
  ["lab"],
];

/** Imports nothing but types, checks of arguments and short forms: it also runs without a native library. */
const ANALYSIS = "src/lab/analysis/";
const FOR_ANALYSIS: readonly string[] = ["src/ffi/arguments.ts", "src/ffi/display.ts"];

/** Writes all files that callers name, the command line's too, because no public entry does. */
const FILE_WRITER = "src/launch/module/named_file.ts";

/** The public entries, which are all that the command line may import besides itself. */
const PUBLIC: readonly string[] = Object.values(
  JSON.parse(textOf("deno.json")).exports as Record<string, string>,
).map((path) => path.replace("./", ""));

function layerOf(file: string): string | undefined {
  return /^src\/([^/]+)\//.exec(file)?.[1];
}

function rank(layer: string): number {
  return ORDER.findIndex((entry) => entry.includes(layer));
}

/** Why a module must not import a file; undefined when it may. */
function importProblem(from: string, target: string, typesOnly: boolean): string | undefined {
  const layer = layerOf(from);
  const other = layerOf(target);
  if (
    from.startsWith(ANALYSIS) && !target.startsWith(ANALYSIS) && !FOR_ANALYSIS.includes(target)
  ) {
    return typesOnly ? undefined : "lab/analysis imports nothing but types";
  }
  // The templates of generated kernels, as text.
  if (target.startsWith(`csrc/kernels/${layer}/`)) return undefined;
  if (layer === undefined || layer === other) return undefined;
  if (layer === "cli") {
    return [...PUBLIC, "deno.json", FILE_WRITER].includes(target)
      ? undefined
      : "cli imports the public entries only";
  }
  if (other === undefined) return `only cli imports ${target}`;
  if (other === "cli") return "nothing imports cli";
  if (rank(other) < 0) return `${other} is no layer`;
  return rank(other) < rank(layer) ? undefined : `${layer} cannot import ${other}`;
}

function resolved(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

function problemsOf(file: string, imports: readonly ModuleImport[]): string[] {
  return imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .flatMap(({ specifier, typesOnly }) => {
      const problem = importProblem(file, resolved(file, specifier), typesOnly);
      return problem === undefined ? [] : [`${file}: ${problem} (${specifier})`];
    });
}

Deno.test("Layers import downwards only", () => {
  const files = filesBelow("src/").filter((file) => file.endsWith(".ts"));
  assertEquals(files.flatMap((file) => problemsOf(file, importsOf(textOf(file)))), []);
});

/** All that the imports of a file lead to; the file itself if it is part of a cycle. */
function reachedFrom(file: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  const waiting = [...imports.get(file) ?? []];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...imports.get(next) ?? []);
  }
  return reached;
}

/** The groups of files that import each other, directly or through others of the group. */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const reached = new Map([...imports.keys()].map((file) => [file, reachedFrom(file, imports)]));
  const cycles = new Map<string, string[]>();
  for (const [file, all] of reached) {
    const cycle = [...all].filter((other) => reached.get(other)?.has(file)).sort();
    if (cycle.length > 0) cycles.set(cycle.join(), cycle);
  }
  return [...cycles.values()];
}

Deno.test("At most three files of src/ import each other by value", () => {
  const chain = new Map([["a", ["b"]], ["b", ["c", "d"]], ["c", ["a"]], ["d", ["e"]]]);
  assertEquals(cyclesOf(chain), [["a", "b", "c"]]);
  const imports = new Map(
    filesBelow("src/").filter((file) => file.endsWith(".ts")).map((file) => [
      file,
      importsOf(textOf(file))
        .filter(({ specifier, typesOnly }) => specifier.startsWith(".") && !typesOnly)
        .map(({ specifier }) => resolved(file, specifier)),
    ]),
  );
  assertEquals(cyclesOf(imports).filter((cycle) => cycle.length > 3), []);
});

Deno.test("Every folder of src/ is a layer", () => {
  const known = [...ORDER.flat(), "cli"];
  const folders = new Set(filesBelow("src/").map((file) => layerOf(file)));
  assertEquals(
    [...folders].filter((folder) => folder === undefined || !known.includes(folder)),
    [],
  );
});

Deno.test("problemsOf() finds forbidden imports", () => {
  const forbidden: Readonly<Record<string, string>> = {
    "src/ffi/a.ts": 'import type { X } from "../device/b.ts";',
    "src/ffi/b.ts": 'const x = await import("../cli/main.ts");',
    "src/ffi/c.ts": 'export * from "../../mod.ts";',
    "src/bitnet/a.ts": 'import { x } from "../distributed/b.ts";',
    "src/lab/analysis/a.ts": 'import { x, type Y } from "../../ffi/b.ts";',
    "src/cli/a.ts": 'import { x } from "../device/b.ts";',
    "src/device/a.ts": 'import {\n  x,\n} from "../lab/b.ts";',
  };
  const allowed: Readonly<Record<string, string>> = {
    "src/device/a.ts": 'import { x } from "../ffi/b.ts";',
    "src/lab/a.ts": 'import { x } from "../device/b.ts";',
    "src/lab/analysis/a.ts": 'import { type X, type Y } from "../../ffi/b.ts";',
    "src/cli/a.ts": 'import { x } from "../../mod.ts";',
    "src/ffi/a.ts": '// import { x } from "../device/b.ts";',
  };
  const countOf = ([file, text]: [string, string]) => problemsOf(file, importsOf(text)).length;
  assertEquals(new Set(Object.entries(forbidden).map(countOf)), new Set([1]));
  assertEquals(new Set(Object.entries(allowed).map(countOf)), new Set([0]));
});

Deno.test("Only src/ffi uses Deno.dlopen, and nothing uses pointers or callbacks", () => {
  const examples = filesBelow().filter((file) => /^examples\/.*\.ts$/.test(file));
  const problems = [...packageModules(), ...examples].flatMap((file) => {
    const text = textOf(file);
    const names = text.match(/\bDeno\.(?:UnsafePointer|UnsafeFnPointer|UnsafeCallback)\w*/g) ?? [];
    const opens = file.startsWith("src/ffi/") ? [] : text.match(/\bDeno\.dlopen\b/g) ?? [];
    return [...names, ...opens].map((name) => `${file}: ${name}`);
  });
  assertEquals(problems, []);
});

/** Prints log records when `GRIDSTRIDE_LOG` is set. */
const LOG_SINK = "src/ffi/logging.ts";

Deno.test("Only the command line and build.ts print, read arguments or exit", () => {
  const problems = packageModules()
    .filter((file) => file !== "build.ts" && file !== LOG_SINK && layerOf(file) !== "cli")
    .flatMap((file) => {
      const code = textOf(file).replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
      const found = code.match(/\bconsole\.\w+\(|\bDeno\.(?:args|exit|stdout|stderr)\b/g) ?? [];
      return found.map((name) => `${file}: ${name}`);
    });
  assertEquals(problems, []);
});
