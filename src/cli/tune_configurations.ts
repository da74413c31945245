/**
 * The configurations of `gridstride tune`, and the launch of each.
 *
 * @module
 */

import type { LaunchConfig } from "../../mod.ts";
import { FileProblem, type Invocation, readFile, UsageError } from "./command.ts";
import { DEFAULT_BLOCK } from "./kernel.ts";
import { refuseOption, textOption } from "./options.ts";

export type Macros = Readonly<Record<string, number | string>>;

const MAX_CONFIGURATIONS = 10_000;

/** An integer that C++ reads as JavaScript does becomes a number; 010, for example, is 8 in C++. */
function macroValue(text: string): number | string {
  const value = Number(text);
  return /^(?:0|-?[1-9]\d*)$/.test(text) && Number.isSafeInteger(value) ? value : text;
}

function parseAxis(text: string): [name: string, values: (number | string)[]] {
  const [, name, list] = /^([A-Za-z_]\w*)=(.+)$/s.exec(text) ?? [];
  const values = list?.split(",").map((value) => value.trim());
  if (name === undefined || values === undefined || values.includes("")) {
    return refuseOption("tune", "NAME=VALUE,VALUE,…", text);
  }
  if (new Set(values).size === values.length) return [name, values.map(macroValue)];
  return refuseOption("tune", `different values of ${name}`, text);
}

/** Combines the values of all `--tune`; the values of the last one vary fastest. */
function combine(texts: readonly string[]): Macros[] {
  const axes = texts.map(parseAxis);
  const names = axes.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new UsageError(`Cannot use --tune as ${twice} is given twice: list all values in one`);
  }
  const count = axes.reduce((product, [, values]) => product * values.length, 1);
  if (count > MAX_CONFIGURATIONS) {
    throw new UsageError(
      `Cannot use --tune with more than ${MAX_CONFIGURATIONS} configurations: there are ${count}`,
    );
  }
  return axes.reduce<Macros[]>(
    (all, [name, values]) =>
      all.flatMap((macros) => values.map((value) => ({ ...macros, [name]: value }))),
    [{}],
  );
}

async function readConfigurationFile(path: string): Promise<Macros[]> {
  const refuse = (reason: string): never => {
    throw new FileProblem(
      `Cannot use ${path} as it must be a JSON array of configurations, such as ` +
        `[{"TILE": 16}, {"TILE": 32}]: ${reason}`,
    );
  };
  const text = new TextDecoder().decode(await readFile(path));
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    refuse((error as Error).message);
  }
  if (!Array.isArray(list) || list.length === 0) {
    return refuse("it is not an array, or it is empty");
  }
  const isMacro = ([name, value]: [string, unknown]) =>
    /^[A-Za-z_]\w*$/.test(name) && (typeof value === "string" || Number.isFinite(value));
  const wrong = list.findIndex((macros: unknown) =>
    typeof macros !== "object" || macros === null || Array.isArray(macros) ||
    !Object.entries(macros).every(isMacro)
  );
  return wrong < 0 ? list : refuse(`element ${wrong} is not an object with numbers and texts`);
}

/** Reads the configurations of `--tune` or `--configurations`. */
export async function readConfigurations(invocation: Invocation): Promise<Macros[]> {
  const path = textOption(invocation, "configurations");
  const texts = invocation.lists["tune"] ?? [];
  if (path !== undefined && texts.length === 0) return await readConfigurationFile(path);
  if (path === undefined && texts.length > 0) return combine(texts);
  throw new UsageError(
    "Cannot run gridstride tune as there must be either --tune or --configurations. For the size " +
      "of a block: --tune BLOCK=64,128,256,512 --block BLOCK; for a macro of the source: --tune " +
      "TILE=16,32",
  );
}

const FUNCTIONS: Readonly<Record<string, unknown>> = {
  ceil: Math.ceil,
  floor: Math.floor,
  min: Math.min,
  max: Math.max,
};
/** The number of elements of the longest array in expressions. */
const ELEMENTS = "elements";

type Expression = (macros: Macros, elements: number) => readonly number[];

/**
 * Compiles arithmetic expressions that are separated by commas. They consist of numbers, known
 * names, operators and parentheses only, and these have the same meaning in JavaScript.
 */
function parseExpressions(
  option: "grid" | "block" | "shared",
  text: string,
  names: readonly string[],
): Expression {
  const refuse = (reason: string): never => {
    throw new UsageError(
      `Cannot use --${option} as it must be an expression such as ceil(elements / 256): ` +
        `${reason} in "${text}"`,
    );
  };
  const known = [...new Set([...names, ELEMENTS, ...Object.keys(FUNCTIONS)])];
  const tokens = text.match(/\d+(?:\.\d+)?(?!\w)|\w+|\S/g) ?? [];
  const isToken = (token: string) =>
    /^(?:\d[\d.]*|[-+*/%(),])$/.test(token) || known.includes(token);
  const wrong = tokens.find((token) => !isToken(token));
  if (wrong !== undefined) {
    refuse(`"${wrong}" is neither a number, an operator nor one of ${known.join(", ")}`);
  }
  let compiled: (...values: unknown[]) => unknown[];
  try {
    compiled = new Function(...known, `return [${text}];`) as typeof compiled;
  } catch (error) {
    return refuse((error as Error).message);
  }
  const [minimum, maximum, allowed] = option === "shared"
    ? [0, 1, "one integer"]
    : [1, 3, "1 to 3 integers"];
  return (macros, elements) => {
    const valueOf = (name: string) => name === ELEMENTS ? elements : Number(macros[name]);
    const values = [...compiled(...known.map((name) => FUNCTIONS[name] ?? valueOf(name)))];
    const isRight = (value: unknown): value is number =>
      Number.isSafeInteger(value) && value as number >= minimum;
    if (values.length >= 1 && values.length <= maximum && values.every(isRight)) return values;
    throw new RangeError(
      `Cannot use --${option} as it must be ${allowed} of at least ${minimum}: it is ${
        values.join(", ")
      }`,
    );
  };
}

/**
 * Reads `--grid`, `--block` and `--shared`: their texts for the key of stored results, and the launch
 * of a configuration for the number of elements of the longest array.
 */
export function readLaunch(invocation: Invocation, configurations: readonly Macros[]) {
  if (configurations.some((macros) => Object.hasOwn(macros, ELEMENTS))) {
    throw new UsageError(
      `Cannot tune the macro ${ELEMENTS}: in --block, --grid and --shared this name stands for ` +
        "the length of the longest array",
    );
  }
  const names = Object.keys(configurations[0]!)
    .filter((name) => configurations.every((macros) => Object.hasOwn(macros, name)));
  const grid = textOption(invocation, "grid");
  const block = textOption(invocation, "block") ?? String(DEFAULT_BLOCK);
  const shared = textOption(invocation, "shared") ?? "0";
  const blocks = grid === undefined ? undefined : parseExpressions("grid", grid, names);
  const threads = parseExpressions("block", block, names);
  const bytes = parseExpressions("shared", shared, names);
  return {
    texts: [grid ?? "", block, shared],
    of(macros: Macros, elements: number): LaunchConfig {
      const block = threads(macros, elements);
      if (blocks === undefined && block.length > 1) {
        throw new RangeError("Cannot launch without --grid as --block has several dimensions");
      }
      const grid = blocks?.(macros, elements) ?? [Math.max(1, Math.ceil(elements / block[0]!))];
      const [sharedMemory] = bytes(macros, elements);
      const extents = { grid, block } as unknown as Pick<LaunchConfig, "grid" | "block">;
      return { ...extents, sharedMemory: sharedMemory! };
    },
  };
}
