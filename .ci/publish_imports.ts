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

/** The published sources of modules of the standard library. */
const PUBLISHED: Readonly<Record<string, string>> = {
  "@std/cli/parse-args": "jsr:@std/cli@^1.0.0/parse-args",
};

/** Imports of tests only. */
const TESTS_ONLY: readonly string[] = [
  "@std/assert",
  "deno-std/",
  "fast-check",
  "playwright-core",
];

/** The text of `deno.json` as it is published. */
export function publishedConfiguration(text: string): string {
  const configuration: { imports: Record<string, string> } = JSON.parse(text);
  for (const specifier of TESTS_ONLY) delete configuration.imports[specifier];
  for (const [specifier, target] of Object.entries(PUBLISHED)) {
    if (!(specifier in configuration.imports)) {
      throw new Error(`Cannot publish as deno.json has no import ${JSON.stringify(specifier)}`);
    }
    configuration.imports[specifier] = target;
  }
  return JSON.stringify(configuration, null, 2) + "\n";
}

if (import.meta.main) {
  const file = new URL("../deno.json", import.meta.url);
  Deno.writeTextFileSync(file, publishedConfiguration(Deno.readTextFileSync(file)));
}
