// The public API as its users see it: small, without duplicates, and true in its documentation.

import { assert, assertEquals } from "@std/assert";
import { configuration, filesBelow, runDeno, textOf } from "./repository.ts";

/** Maximum number of names that `mod.ts` exports. */
const MAX_NAMES = 130;

interface Entry {
  readonly symbols: readonly { readonly name: string }[];
}

/** Entries that programs import, without the command line. */
const ENTRIES = Object.entries(configuration().exports)
  .filter(([name]) => name !== "./cli").map(([, path]) => path.replace("./", ""));

async function documentation(entry: string): Promise<{ names: string[]; text: string }> {
  const { code, output } = await runDeno("doc", "--json", entry);
  assertEquals(code, 0, output);
  const { nodes } = JSON.parse(output) as { nodes: Readonly<Record<string, Entry>> };
  const names = Object.values(nodes).flatMap(({ symbols }) => symbols.map(({ name }) => name));
  return { names: [...new Set(names)], text: output };
}

const documented = new Map(
  await Promise.all(ENTRIES.map(async (entry) => [entry, await documentation(entry)] as const)),
);

Deno.test(`mod.ts exports at most ${MAX_NAMES} names, each with a category`, () => {
  const { names, text } = documented.get("mod.ts")!;
  assert(names.length <= MAX_NAMES, `it exports ${names.length}`);
  const tags = text.match(/"kind": ?"category"/g) ?? [];
  assert(tags.length >= names.length, `${tags.length} of ${names.length} have a category`);
});

Deno.test("No name is exported by two entries", () => {
  const entriesOf = new Map<string, string[]>();
  for (const [entry, { names }] of documented) {
    for (const name of names) entriesOf.set(name, [...entriesOf.get(name) ?? [], entry]);
  }
  assertEquals([...entriesOf].filter(([, entries]) => entries.length > 1), []);
});

Deno.test("The documentation links only to exported names", () => {
  const all = new Set([...documented.values()].flatMap(({ names }) => names));
  const problems = [...documented].flatMap(([entry, { text }]) =>
    [...text.matchAll(/\{@link(?:code)?\s+([A-Za-z_$][\w$]*)/g)]
      .filter(([, name]) => !all.has(name!)).map(([link]) => `${entry}: ${link}}`)
  );
  assertEquals([...new Set(problems)], []);
});

Deno.test("No member is marked @internal, and no example imports an internal file", () => {
  const problems = ["mod.ts", "build.ts", ...filesBelow("src/")]
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => {
      const comments = textOf(file).match(/\/\*\*[\s\S]*?\*\//g) ?? [];
      const found = comments.flatMap((comment) =>
        comment.match(/@internal\b|^ *\* import .* from "\.{1,2}\/.*"/gm) ?? []
      );
      return found.map((text) => `${file}: ${text.trim()}`);
    });
  assertEquals(problems, []);
});

/** A tag after other text in its line, which is no tag; or a formula with a capital letter. */
const MALFORMED =
  /^ *\/?\*\*? (?!@).*\S @(?:category|param|returns|throws|example)\b|^ *\/?\*\*? (?:[B-Z](?: [·^]|[²ʸˣ])|E to the power|(?:Log|Max|Min|Exp)\()/gm;

Deno.test("Tags begin lines of documentation, and formulas keep their small letters", () => {
  for (const text of ["/** Adds. @category Sums */", " * X · Φ(x)", "/** Log(x) */", " * X²."]) {
    assertEquals(text.match(MALFORMED)?.length, 1, text);
  }
  for (const text of ["/** @category Sums */", " * x · Φ(x)", " * X is a matrix.", " * Maximum"]) {
    assertEquals(text.match(MALFORMED), null, text);
  }
  const problems = ["mod.ts", "build.ts", ...filesBelow("src/")]
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => (textOf(file).match(MALFORMED) ?? []).map((line) => `${file}: ${line}`));
  assertEquals(problems, []);
});
