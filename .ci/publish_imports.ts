/**
 * Rewrites `deno.json` for publishing: modules of Deno's standard library come from JSR there. In the
 * repository they come from npm, the only registry that some test machines reach.
 *
 * ```sh
 * deno run --allow-read --allow-write .ci/publish_imports.ts
 * ```
 *
 * @module
 */

/** The package on npm that holds the modules of the standard library. */
const STAND_IN = "npm:deno-std@1.4.0";

/** The versions on JSR of the same modules: those of the library's release 2026.04.20. */
const STD_VERSIONS: Readonly<Record<string, string>> = {
  cli: "1.0.29",
  fmt: "1.0.10",
  html: "1.0.6",
  text: "1.0.18",
};

/** Imports of tests and benchmarks only. */
const TESTS_ONLY: readonly string[] = [
  "@huggingface/gguf",
  "@std/assert",
  "ajv/",
  "deno-std/",
  "fast-check",
  "llama3-tokenizer-js",
  "openai",
  "playwright-core",
  "vega-datasets/",
];

/** The published target of an import of `deno.json`. */
function publishedTarget(specifier: string, target: string): string {
  const [, library, module] = /^@std\/([a-z-]+)\/([a-z-]+)$/.exec(specifier) ?? [];
  if (library === undefined) return target;
  const expected = `${STAND_IN}/${library}/${module!.replaceAll("-", "_")}.js`;
  const version = STD_VERSIONS[library];
  if (target !== expected || version === undefined) {
    throw new Error(
      `Cannot publish ${specifier} as it must be ${expected} with a known version: it is ${target}`,
    );
  }
  return `jsr:@std/${library}@^${version}/${module}`;
}

/** The text of `deno.json` as it is published. */
export function publishedConfiguration(text: string): string {
  const configuration = JSON.parse(text);
  const imports: Record<string, string> = configuration.imports;
  configuration.imports = Object.fromEntries(
    Object.entries(imports).filter(([specifier]) => !TESTS_ONLY.includes(specifier))
      .map(([specifier, target]) => [specifier, publishedTarget(specifier, target)]),
  );
  // JSR serves the types of its modules.
  delete configuration.compilerOptions.types;
  return JSON.stringify(configuration, null, 2) + "\n";
}

if (import.meta.main) {
  const file = new URL("../deno.json", import.meta.url);
  Deno.writeTextFileSync(file, publishedConfiguration(Deno.readTextFileSync(file)));
}
