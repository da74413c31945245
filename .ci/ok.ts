/**
 * Everything a change has to pass: `deno task ok`. Stops at the first step that fails. With
 * `--static` it runs only the steps that need no native library.
 *
 * @module
 */

import { ROOT, step, StepError } from "./steps.ts";

interface Configuration {
  readonly exports: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, string>>;
}

const { exports, imports }: Configuration = JSON.parse(
  await Deno.readTextFile(new URL("deno.json", ROOT)),
);
const entries = Object.values(exports);

/** The pages of the documentation. */
const pages = [...Deno.readDirSync(new URL("docs/", ROOT))].map(({ name }) => `docs/${name}`)
  .filter((path) => path.endsWith(".md")).sort();

/** The configuration of a program that links to this checkout: the types that Deno has by default. */
const USER_CONFIGURATION = "build/user_deno.json";

/** Writes {@linkcode USER_CONFIGURATION}, beside which relative imports have another base. */
async function writeUserConfiguration(): Promise<void> {
  const absolute = Object.entries(imports).map(([name, target]) =>
    [name, target.startsWith("./") ? new URL(target, ROOT).href : target] as const
  );
  const text = JSON.stringify({ imports: Object.fromEntries(absolute), nodeModulesDir: "none" });
  await Deno.mkdir(new URL("build/", ROOT), { recursive: true });
  await Deno.writeTextFile(new URL(USER_CONFIGURATION, ROOT), text);
}

/**
 * Steps that read the sources, from the fastest to the slowest. The types of the examples in the
 * documentation are for `tests/docs/`: `deno check --doc` adds an import of all that a module
 * exports, and then complains that it is unused.
 */
const STATIC_STEPS: readonly (readonly [string, readonly string[]])[] = [
  // Deno skips hidden folders unless they are named.
  ["format", ["deno", "fmt", "--check", ".", ".ci/", ".github/"]],
  ["lint", ["deno", "lint", ".", ".ci/"]],
  ["types", ["deno", "check", ".", ".ci/"]],
  [
    "types in a program that links to this checkout",
    ["deno", "check", "--config", USER_CONFIGURATION, "--no-lock", ...entries],
  ],
  ["types of examples in documents", ["deno", "check", "--doc-only", "README.md", ...pages]],
  ["documentation", ["deno", "doc", "--lint", ...entries]],
];

/** Steps that build and run. */
const DYNAMIC_STEPS: readonly (readonly [string, readonly string[]])[] = [
  ["tests", ["deno", "task", "test"]],
  ["publish", ["deno", "publish", "--dry-run", "--allow-dirty"]],
];

const steps = Deno.args.includes("--static") ? STATIC_STEPS : [...STATIC_STEPS, ...DYNAMIC_STEPS];

try {
  await writeUserConfiguration();
  for (const [title, command] of steps) await step(title, command);
  console.error("\nok");
} catch (error) {
  if (!(error instanceof StepError)) throw error;
  console.error(`\nNot ok: ${error.message}`);
  Deno.exit(1);
}
