// The public API as its users see it: small, without duplicates, and true in its documentation.

import { assert, assertEquals } from "@std/assert";
import { configuration, filesBelow, runDeno, textOf } from "./repository.ts";

/** Maximum number of names that `mod.ts` exports. */
const MAX_NAMES = 130;

interface Parameter {
  readonly kind: "identifier" | "assign" | "rest" | "object" | "array";
  readonly name?: string;
  /** The parameter of a default value, and that of a rest parameter. */
  readonly left?: Parameter;
  readonly arg?: Parameter;
}

interface Member {
  readonly name: string;
}

interface Declaration {
  readonly kind: string;
  readonly jsDoc?: {
    readonly tags?: readonly {
      readonly kind: string;
      readonly name?: string;
      readonly doc?: string;
    }[];
  };
  readonly def?: {
    readonly params?: readonly Parameter[];
    readonly constructors?: readonly Member[];
    readonly properties?: readonly Member[];
    readonly methods?: readonly Member[];
  };
}

interface PublicSymbol {
  readonly name: string;
  readonly declarations: readonly Declaration[];
}

interface Documentation {
  readonly symbols: readonly PublicSymbol[];
  readonly names: readonly string[];
  readonly text: string;
}

/** The entries of the package. */
const ENTRIES = Object.values(configuration().exports).map((path) => path.replace("./", ""));

async function documentation(entry: string): Promise<Documentation> {
  const { code, output } = await runDeno("doc", "--json", entry);
  assertEquals(code, 0, output);
  const nodes: Readonly<Record<string, Pick<Documentation, "symbols">>> = JSON.parse(output).nodes;
  const symbols = Object.values(nodes).flatMap((node) => node.symbols);
  return { symbols, names: [...new Set(symbols.map(({ name }) => name))], text: output };
}

const documented = new Map(
  await Promise.all(ENTRIES.map(async (entry) => [entry, await documentation(entry)] as const)),
);

Deno.test(`mod.ts exports at most ${MAX_NAMES} names`, () => {
  const { length } = documented.get("mod.ts")!.names;
  assert(length <= MAX_NAMES, `it exports ${length}`);
});

/** Functions whose examples build libraries, delete files that tests share, or name a place. */
const WITHOUT_EXAMPLE = ["build", "clearTunings", "load"];

/** Functions with parameters that throw for none of them: errors of the command line are exit codes. */
const NEVER_THROW = ["main"];

const tagsOf = ({ declarations }: PublicSymbol) =>
  declarations.flatMap(({ jsDoc }) => jsDoc?.tags ?? []);

/** What a parameter is called; a destructured one has no name. */
function nameOf({ name, left, arg }: Parameter): string | undefined {
  return name ?? (left ? nameOf(left) : arg ? nameOf(arg) : undefined);
}

/** What the documentation of a symbol lacks. */
function problemsOf(symbol: PublicSymbol): string[] {
  const { name, declarations } = symbol;
  // Another name of a symbol has the documentation of that.
  if (declarations.every(({ kind }) => kind === "reference")) return [];
  const tags = tagsOf(symbol);
  const problems: string[] = [];
  if (!tags.some(({ kind }) => kind === "category")) problems.push("has no category");
  const kinds = declarations.map(({ kind }) => kind);
  if (kinds.includes("variable") && name !== name.toUpperCase()) {
    problems.push("is a variable, not a function");
  }
  if (!kinds.includes("function")) return problems;
  const examples = tags.filter(({ kind }) => kind === "example");
  if (
    !WITHOUT_EXAMPLE.includes(name) &&
    !examples.some(({ doc }) => /^```ts\n[\s\S]*"@gridstride\/cuda/m.test(doc ?? ""))
  ) {
    problems.push("has no example that runs");
  }
  const described = new Set(
    tags.filter(({ kind }) => kind === "param").map((tag) => tag.name!.split(".")[0]),
  );
  const names = declarations.flatMap(({ def }) => def?.params ?? []).map(nameOf);
  const errors = tags.filter(({ kind }) => kind === "throws");
  if (names.length > 0 && errors.length === 0 && !NEVER_THROW.includes(name)) {
    problems.push("does not say what it throws");
  }
  for (const parameter of new Set(names)) {
    if (!described.has(parameter)) problems.push(`does not describe ${parameter ?? "a parameter"}`);
  }
  return problems;
}

Deno.test("Every public symbol has a category, every function its parameters, errors and an example", () => {
  const parameter: Parameter = { kind: "assign", left: { kind: "identifier", name: "x" } };
  const bare = { kind: "function", def: { params: [parameter] } };
  assertEquals(problemsOf({ name: "f", declarations: [bare] }), [
    "has no category",
    "has no example that runs",
    "does not say what it throws",
    "does not describe x",
  ]);
  assertEquals(problemsOf({ name: "f", declarations: [{ kind: "function" }] }).length, 2);
  const category = { kind: "category" };
  const constant = { kind: "variable", jsDoc: { tags: [category] } };
  assertEquals(problemsOf({ name: "f", declarations: [constant] }).length, 1);
  assertEquals(problemsOf({ name: "LIMIT_2", declarations: [constant] }), []);
  const example = { kind: "example", doc: '```ts\nimport "@gridstride/cuda";\n```' };
  const tags = [category, example, { kind: "param", name: "x" }, { kind: "throws" }];
  const whole = { ...bare, jsDoc: { tags } };
  assertEquals(problemsOf({ name: "f", declarations: [whole] }), []);

  const problems = [...documented].flatMap(([entry, { symbols }]) =>
    symbols.flatMap((symbol) =>
      problemsOf(symbol).map((problem) => `${entry}: ${symbol.name} ${problem}`)
    )
  );
  assertEquals(problems, []);
});

/** Members that other modules of the package need, and programs do not. */
const HIDDEN = [
  "Kernel.constructor",
  "Stream.captureToken",
  "DeviceContext.retain",
  "DeviceContext.release",
  "DeviceContext.onClose",
  "Tensor.requireUsable",
  "Tensor.context",
];

Deno.test("The documentation shows no member that only the package uses", () => {
  const members = [...documented.values()].flatMap(({ symbols }) =>
    symbols.flatMap(({ name, declarations }) =>
      declarations.flatMap(({ def = {} }) =>
        [def.constructors, def.properties, def.methods].flatMap((group) => group ?? [])
          .map((member) => `${name}.${member.name}`)
      )
    )
  );
  assert(members.includes("Tensor.shape") && members.includes("Stream.wait"));
  assertEquals(HIDDEN.filter((member) => members.includes(member)), []);
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
