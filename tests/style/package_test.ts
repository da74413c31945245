import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { publishedConfiguration } from "../../.ci/publish_imports.ts";
import { MANIFEST } from "../../src/ffi/build/manifest.ts";
import { VERSION } from "../../src/ffi/version.ts";
import { publishedFiles } from "../publish/published_package.ts";
import {
  configuration,
  filesBelow,
  importsOf,
  packageModules,
  ROOT,
  runDeno,
  textOf,
} from "./repository.ts";

interface ModuleDependency {
  readonly code?: { readonly specifier: string };
  readonly type?: { readonly specifier: string };
  readonly isDynamic?: boolean;
}

interface GraphModule {
  readonly specifier: string;
  readonly error?: string;
  readonly dependencies?: readonly ModuleDependency[];
}

interface ModuleGraph {
  readonly modules: readonly GraphModule[];
}

async function modulesOf(entry: string): Promise<readonly GraphModule[]> {
  const { code, output } = await runDeno("info", "--quiet", "--json", entry);
  assertEquals(code, 0, output);
  const { modules }: ModuleGraph = JSON.parse(output);
  assertEquals(modules.filter(({ error }) => error !== undefined), []);
  return modules;
}

/** The modules that an entry loads; of dynamic imports and types only with `all`. */
async function loadedBy(entry: string, all = false): Promise<string[]> {
  const modules = new Map((await modulesOf(entry)).map((module) => [module.specifier, module]));
  const loaded = new Set<string>();
  const load = (specifier: string) => {
    if (loaded.has(specifier)) return;
    loaded.add(specifier);
    for (const { code, type, isDynamic } of modules.get(specifier)?.dependencies ?? []) {
      if (code !== undefined && (all || isDynamic !== true)) load(code.specifier);
      if (all && type !== undefined) load(type.specifier);
    }
  };
  load(new URL(entry, ROOT).href);
  return [...loaded];
}

function graphOf(entry: string): Promise<string[]> {
  return loadedBy(entry, true);
}

Deno.test("mod.ts depends on Deno, the web, node: and LogTape only, and on no tensors", async () => {
  const graph = await graphOf("mod.ts");
  const foreign = graph.filter((specifier) =>
    !specifier.startsWith(ROOT.href) && !specifier.startsWith("node:") &&
    !/^npm:\/?@logtape\/logtape@/.test(specifier)
  );
  assertEquals(foreign, []);
  // Deno also fetches what is imported later, and with tensors the texts of all kernels.
  assertEquals(graph.filter((specifier) => /\/src\/(?:tensor|ternary)\//.test(specifier)), []);
});

Deno.test("Only src/bitnet/ imports packages of Hugging Face", () => {
  const importers = packageModules().filter((file) =>
    importsOf(textOf(file)).some(({ specifier }) => /^(?:npm:\/?)?@huggingface\//.test(specifier))
  );
  assert(importers.length > 0, "some module imports them");
  assertEquals(importers.filter((file) => !file.startsWith("src/bitnet/")), []);
});

Deno.test("./analysis has no dependencies, and only pictures load Plot", async () => {
  const foreign = (specifiers: readonly string[]) =>
    specifiers.filter((specifier) =>
      !specifier.startsWith(new URL("src/lab/analysis/", ROOT).href) &&
      !/\/src\/ffi\/(arguments|describe_value|display)\.ts$/.test(specifier)
    );
  assertEquals(foreign(await graphOf("src/lab/analysis/mod.ts")), []);
  const drawing = (specifiers: readonly string[]) =>
    specifiers.filter((specifier) => /@observablehq\/plot|linkedom/.test(specifier));
  const [entry, picture] = ["src/cli/main.ts", "src/cli/pictures/roofline_picture.ts"];
  assertEquals(drawing(await loadedBy(entry)), []);
  assert(drawing(await loadedBy(picture)).length === 2, "the picture loads Plot");
});

Deno.test("mod.ts only re-exports, without the build", async () => {
  const text = textOf("mod.ts").replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const statements = text.split(";").map((statement) => statement.trim()).filter(Boolean);
  const others = statements.filter((statement) => !/^export\b[^]*\bfrom\s+"/.test(statement));
  assertEquals(others, []);
  const graph = await graphOf("mod.ts");
  // Kernels are compiled by the same compilers as the libraries; only building is left out.
  const building =
    /\/src\/ffi\/build\/(?:build_libraries|choose_toolchains|command_line|\w+_plan)\.ts$/;
  assertEquals(graph.filter((specifier) => building.test(specifier)), []);
});

Deno.test("Importing an entry needs no permission and does nothing", async () => {
  const entries = Object.values(configuration().exports)
    .map((entry) => `await import(${JSON.stringify(new URL(entry, ROOT).href)});`);
  const program = `${entries.join("\n")}\nconsole.log("imported");`;
  const { code, output } = await runDeno("eval", "--quiet", "--no-check", program);
  assertEquals([code, output], [0, "imported\n"]);
  // `deno eval` has every permission; `deno run` has none here.
  const file = Deno.makeTempFileSync({ suffix: ".ts" });
  try {
    Deno.writeTextFileSync(file, program);
    const config = new URL("deno.json", ROOT).pathname;
    const flags = ["--quiet", "--no-prompt", "--no-check", "--config", config];
    const run = await runDeno("run", ...flags, file);
    assertEquals([run.code, run.output], [0, "imported\n"]);
  } finally {
    Deno.removeSync(file);
  }
});

Deno.test("Every public symbol is documented", async () => {
  const entries = Object.values(configuration().exports);
  const { code, output } = await runDeno("doc", "--lint", ...entries);
  assertEquals(code, 0, output);
});

Deno.test("Every entry has a module description", () => {
  for (const entry of Object.values(configuration().exports)) {
    assertMatch(textOf(entry), /^\/\*\*[^]*?@module\b/, entry);
  }
});

Deno.test("The published files are the package and its sources", async () => {
  const files = await publishedFiles();
  const documents = ["ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", "README.md", "deno.json"];
  const wrong = files.filter((file) =>
    !documents.includes(file) &&
    !/^(?:mod|build)\.ts$|^src\/.*\.ts$|^src\/.*_(?:schema\.json|page\.html)$/.test(file) &&
    !/^docs\/\w+\.md$/.test(file) &&
    !/^csrc\/.*\.(?:cu|cuh|cpp|h|map|md)$/.test(file) &&
    // C++'s own headers have no ending.
    !/^csrc\/host\/include\/[a-z]+$/.test(file)
  );
  assertEquals(wrong, []);
  const needed = [...documents, ...packageModules(), ...MANIFEST];
  assertEquals(needed.filter((file) => !files.includes(file)), []);
});

Deno.test("VERSION is the version of deno.json", () => {
  assertEquals(VERSION, configuration().version);
});

Deno.test("Every bare import is mapped, and published from JSR or npm", () => {
  const { imports } = configuration();
  const published = publishedConfiguration(textOf("deno.json"));
  const publishedImports: Record<string, string> = JSON.parse(published).imports;
  const bare = new Set(
    packageModules().flatMap((file) => importsOf(textOf(file)))
      .map(({ specifier }) => specifier)
      .filter((specifier) => !/^(?:\.|node:)/.test(specifier)),
  );
  for (const specifier of bare) {
    assert(specifier in imports, `${specifier} is not in the import map of deno.json`);
    const target = publishedImports[specifier] ?? "none";
    assertMatch(target, /^(?:jsr|npm):/, specifier);
    assertEquals(target.startsWith("jsr:@std/"), specifier.startsWith("@std/"), specifier);
  }
  assertEquals(Object.keys(publishedImports).filter((specifier) => !bare.has(specifier)), []);
});

Deno.test("Both import maps name the same modules of the standard library", () => {
  const text = textOf("deno.json");
  const published: Record<string, string> = JSON.parse(publishedConfiguration(text)).imports;
  const pairs = Object.entries(configuration().imports)
    .filter(([specifier]) => specifier in published && specifier.startsWith("@std/"));
  assert(pairs.length >= 3);
  for (const [specifier, target] of pairs) {
    const [, library, module] = /^npm:deno-std@[\d.]+\/(\w+)\/(\w+)\.js$/.exec(target) ?? [];
    const name = `${library}/${module?.replaceAll("_", "-")}`;
    assertEquals(published[specifier]!.replace(/@\^[\d.]+/, ""), `jsr:@std/${name}`);
  }
  for (const wrong of ["deno-std@1.3.4/fmt/colors", "deno-std@1.4.0/fmt/printf"]) {
    const changed = text.replace("deno-std@1.4.0/fmt/colors", wrong);
    assertThrows(() => publishedConfiguration(changed), Error, "Cannot publish @std/fmt/colors");
  }
});

Deno.test("The types of the standard library name functions of the stand-in", async () => {
  const types = textOf("tests/support/std.d.ts");
  const modules = [...types.matchAll(/declare module "([^"]+)" \{([^]*?)\n\}/g)];
  assert(modules.length >= 3);
  for (const [, specifier, body] of modules) {
    const module = await import(specifier!);
    const names = [...body!.matchAll(/export function (\w+)/g)].map(([, name]) => name!);
    assertEquals(names.filter((name) => typeof module[name] !== "function"), [], specifier);
  }
});

Deno.test("Every task of deno.json names existing files", () => {
  const files = new Set(filesBelow());
  for (const [name, { command, description }] of Object.entries(configuration().tasks)) {
    assert(description.length > 10, `task ${name}`);
    const named = command.match(/[\w./-]+\.ts\b/g) ?? [];
    assertEquals(named.filter((file) => !files.has(file)), [], `task ${name}`);
  }
});
