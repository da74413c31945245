/**
 * The imports a module's text names. A scan and not a parser: strings and comments that look like
 * imports are told apart by the line they start on.
 *
 * @module
 */

/** One import or re-export. */
export interface ModuleImport {
  /** What is imported from. */
  readonly specifier: string;
  /** Whether it vanishes when types are taken off. */
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
