/**
 * Finds the imports of a module by patterns, without a parser.
 *
 * @module
 */

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
