/**
 * The configurations of `gridstride tune`: from lists of values, or from a file.
 *
 * @module
 */

import { type Invocation, UsageError } from "./command.ts";
import { FileProblem, isAboutFile, reasonOf } from "./file_problem.ts";
import { textOption } from "./run_options.ts";

/** Macros by name. */
export type Macros = Readonly<Record<string, number | string>>;

const NAME = /^[A-Za-z_]\w*$/;
/** Integers whose digits mean the same to C++, to which 010 is 8. */
const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const MOST_CONFIGURATIONS = 10_000;

/** The value of a macro: a number where it is an integer that a number holds. */
function macroValue(text: string): number | string {
  const value = Number(text);
  return INTEGER.test(text) && Number.isSafeInteger(value) ? value : text;
}

/** The values of one `--tune`. */
function axisIn(text: string): readonly [name: string, values: readonly (number | string)[]] {
  const [, name, list] = /^([A-Za-z_]\w*)=(.+)$/s.exec(text) ?? [];
  const values = list?.split(",").map((value) => value.trim());
  if (name === undefined || values === undefined || values.includes("")) {
    throw new UsageError(`Cannot use --tune as it must be NAME=VALUE,VALUE,…: it is "${text}"`);
  }
  const macros = values.map(macroValue);
  const twice = macros.find((value, index) => macros.indexOf(value) !== index);
  if (twice !== undefined) {
    throw new UsageError(
      `Cannot use --tune as ${name} must have different values: ${twice} is twice`,
    );
  }
  return [name, macros];
}

/** All combinations, the values of the last name fastest; the first has the first of each. */
function combinations(
  axes: readonly (readonly [name: string, values: readonly (number | string)[]])[],
): Macros[] {
  const count = axes.reduce((product, [, values]) => product * values.length, 1);
  if (count > MOST_CONFIGURATIONS) {
    throw new UsageError(
      `Cannot use --tune as there may be ${MOST_CONFIGURATIONS} configurations: there are ${count}`,
    );
  }
  return axes.reduce<Macros[]>(
    (all, [name, values]) =>
      all.flatMap((macros) => values.map((value) => ({ ...macros, [name]: value }))),
    [{}],
  );
}

async function configurationsIn(path: string): Promise<Macros[]> {
  const refuse = (what: string): never => {
    throw new FileProblem(
      `Cannot use ${path} as it must be a JSON array of configurations, such as ` +
        `[{"TILE": 16}, {"TILE": 32}]: ${what}`,
    );
  };
  let list: unknown;
  try {
    list = JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof SyntaxError) refuse(error.message);
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(`Cannot read ${path}: ${reasonOf(error)}`);
  }
  if (!Array.isArray(list) || list.length === 0) return refuse("it is none, or empty");
  for (const [index, macros] of (list as unknown[]).entries()) {
    if (!isMacros(macros)) refuse(`element ${index} is no object of names with numbers or texts`);
  }
  return list;
}

function isMacros(value: unknown): value is Macros {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([name, macro]) =>
    NAME.test(name) && (typeof macro === "string" || Number.isFinite(macro))
  );
}

/**
 * The configurations that were asked for.
 *
 * @throws {UsageError} If there are none, or they cannot be understood.
 * @throws {FileProblem} If the file cannot be read, or has none.
 */
export async function readConfigurations(invocation: Invocation): Promise<Macros[]> {
  const path = textOption(invocation, "configurations");
  const axes = (invocation.lists["tune"] ?? []).map(axisIn);
  if ((path === undefined) === (axes.length === 0)) {
    throw new UsageError(
      "Cannot tune as the configurations are needed, either by --tune or by --configurations",
    );
  }
  if (path !== undefined) return await configurationsIn(path);
  const names = axes.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new UsageError(`Cannot use --tune as ${twice} is given twice: list its values once`);
  }
  return combinations(axes);
}
