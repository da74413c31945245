/**
 * The repository as the style tests see it: its files, its configuration, and Deno run on it.
 *
 * @module
 */

/** The root of the repository. */
export const ROOT: URL = new URL("../../", import.meta.url);

/** Generated folders. */
const GENERATED = new Set([".git", "build", "coverage", "node_modules", ".gpu-host"]);

/** The files below a folder, relative to the root, in order; generated ones left out. */
export function filesBelow(folder = ""): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].flatMap((entry) => {
    const path = folder + entry.name;
    if (GENERATED.has(path)) return [];
    return entry.isDirectory ? filesBelow(`${path}/`) : [path];
  }).sort();
}

/** The text of a file of the repository. */
export function textOf(file: string): string {
  return Deno.readTextFileSync(new URL(file, ROOT));
}

/** The TypeScript of the package itself. */
export function packageModules(): string[] {
  const below = filesBelow("src/").filter((file) => file.endsWith(".ts"));
  return ["build.ts", "mod.ts", ...below];
}

/** What the style tests read of `deno.json`. */
export interface Configuration {
  /** The version of the package. */
  readonly version: string;
  /** Its entry points. */
  readonly exports: Readonly<Record<string, string>>;
  /** Its import map. */
  readonly imports: Readonly<Record<string, string>>;
  /** Its tasks. */
  readonly tasks: Readonly<Record<string, { command: string; description: string }>>;
}

/** Reads `deno.json`. */
export function configuration(): Configuration {
  return JSON.parse(textOf("deno.json"));
}

/** Runs Deno in the repository and returns its exit code and output, standard error last. */
export async function runDeno(...args: string[]): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** One import or re-export. */
export interface ModuleImport {
  /** The imported module. */
  readonly specifier: string;
  /** Whether it imports types only. */
  readonly typesOnly: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s)?([^;"'`]*?)\bfrom\s+["']([^"'\n]+)["']/gm;
const SIDE_EFFECT = /^import\s+["']([^"'\n]+)["']/gm;
const DYNAMIC = /\bimport\(\s*["'`]([^"'`]+)["'`]/g;

/** Whether every name between the braces carries its own `type`. */
function namesTypesOnly(clause: string): boolean {
  const braces = /^\{([^}]*)\}\s*$/.exec(clause.trim());
  if (braces === null) return false;
  const names = braces[1]!.split(",").map((name) => name.trim()).filter((name) => name !== "");
  return names.length > 0 && names.every((name) => name.startsWith("type "));
}

/** The imports of a module's text, dynamic ones included. */
export function importsOf(text: string): ModuleImport[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const fixed = [...code.matchAll(STATEMENT)].map(([, type, clause, specifier]) => ({
    specifier: specifier!,
    typesOnly: type !== undefined || namesTypesOnly(clause!),
  }));
  const others = [...code.matchAll(SIDE_EFFECT), ...code.matchAll(DYNAMIC)]
    .map(([, specifier]) => ({ specifier: specifier!, typesOnly: false }));
  return [...fixed, ...others];
}
