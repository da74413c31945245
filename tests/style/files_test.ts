import { assertEquals } from "@std/assert";
import { filesBelow, importsOf, packageModules, textOf } from "./repository.ts";

const LINES = 700;

/** Maximum number of source files in a folder. */
const FOLDER = 25;

/** A file with fewer lines belongs into its only importer, if that lies in the same folder. */
const SMALL = 60;
const CODE = /\.(?:ts|cu|cuh|h|cpp|c|sh|yml|json)$|^\.ci\/[^.]*$/;

/** Vague names, alone or at either end of a longer one. */
const VAGUE = /^(?:utils?|helpers?|common|misc|stuff)(?:_|$)|_(?:utils?|helpers?|misc|stuff)$/;

function code(): string[] {
  return filesBelow().filter((file) =>
    CODE.test(file) && file !== "deno.lock" && !file.startsWith("bench/results/")
  );
}

Deno.test(`No file has more than ${LINES} lines`, () => {
  const long = code()
    .map((file) => [file, textOf(file).trimEnd().split("\n").length] as const)
    .filter(([, lines]) => lines > LINES)
    .map(([file, lines]) => `${file}: ${lines} lines`);
  assertEquals(long, []);
});

Deno.test(`No folder has more than ${FOLDER} source files`, () => {
  const sizes = new Map<string, number>();
  for (const file of filesBelow().filter((file) => /^c?src\/.*\.(?:ts|cu|cuh|h|cpp)$/.test(file))) {
    const folder = file.slice(0, file.lastIndexOf("/"));
    sizes.set(folder, (sizes.get(folder) ?? 0) + 1);
  }
  assertEquals([...sizes].filter(([, size]) => size > FOLDER), []);
});

Deno.test(`A file under ${SMALL} lines has more importers than one neighbour`, () => {
  const importers = new Map<string, Set<string>>();
  for (const file of packageModules()) {
    for (const { specifier } of importsOf(textOf(file))) {
      if (!specifier.startsWith(".")) continue;
      const target = new URL(specifier, `file:///${file}`).pathname.slice(1);
      importers.set(target, (importers.get(target) ?? new Set()).add(file));
    }
  }
  const folderOf = (file: string) => file.slice(0, file.lastIndexOf("/") + 1);
  const slices = packageModules().filter((file) => {
    const [importer, ...others] = importers.get(file) ?? [];
    return importer !== undefined && others.length === 0 && folderOf(importer) === folderOf(file) &&
      textOf(file).trimEnd().split("\n").length < SMALL;
  });
  assertEquals(slices, []);
});

Deno.test("No line of C++ is longer than 100 columns", () => {
  const long = code()
    .filter((file) => /\.(?:cu|cuh|h|cpp)$/.test(file))
    .flatMap((file) =>
      textOf(file).split("\n").flatMap((line, index) =>
        [...line].length > 100 ? [`${file}:${index + 1}`] : []
      )
    );
  assertEquals(long, []);
});

Deno.test("Every file and folder is named for its subject", () => {
  const vague = filesBelow().filter((file) =>
    file.split("/").some((part) => VAGUE.test(part.replace(/\..*$/, "").toLowerCase()))
  );
  assertEquals(vague, []);
  for (const name of ["utils", "util_x", "helpers", "test_helper", "common", "misc_1"]) {
    assertEquals(VAGUE.test(name), true, name);
  }
  for (const name of ["utilisation", "commonly", "mischief", "command_line"]) {
    assertEquals(VAGUE.test(name), false, name);
  }
});

Deno.test("No text contains unfinished work or machine paths", () => {
  // Concatenated, because this file must not contain the words itself.
  const words = ["TO" + "DO", "FIX" + "ME", "X" + "XX"].join("|");
  const places = ["work", "root", "farm"].join("|");
  const patterns = [
    new RegExp(`\\b(?:${words})\\b`),
    new RegExp(`(?<![\\w.])/(?:${places})/`),
    new RegExp("(?:\\.\\./)+" + "shared/"),
  ];
  const found = filesBelow()
    .filter((file) => CODE.test(file) || file.endsWith(".md"))
    .flatMap((file) =>
      textOf(file).split("\n").flatMap((line, index) =>
        patterns.some((pattern) => pattern.test(line)) ? [`${file}:${index + 1}: ${line}`] : []
      )
    );
  assertEquals(found, []);
});

Deno.test("The top level contains only the fixed set", () => {
  const allowed = new Set([
    "deno.json",
    "mod.ts",
    "build.ts",
    "src",
    "csrc",
    "tests",
    "bench",
    "examples",
    "docs",
    "README.md",
    "LICENSE",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "deno.lock",
  ]);
  const top = new Set(filesBelow().map((file) => file.split("/")[0]!));
  assertEquals([...top].filter((name) => !name.startsWith(".") && !allowed.has(name)), []);
});
