/**
 * The names that kernels and variables have in what nvcc makes. It has nothing like the name
 * expressions of NVRTC; but a variable that holds an address says in PTX whose address that is.
 *
 * @module
 */

/** What diagnostics call the lines that are added to a source. */
export const NAMES_FILE = "gridstride_names";

const PREFIX = "gridstride_name_";
const NAME = new RegExp(
  `^[ \\t]*(?:\\.visible )?\\.global .*\\b${PREFIX}(\\d+) = (?:generic\\()?([\\w$.]+)\\)?;\n`,
  "gm",
);

/** A source, with a variable for each expression behind it. */
export function withNames(source: string, expressions: readonly string[]): string {
  const variables = expressions.map((expression, index) =>
    `__device__ const void* ${PREFIX}${index} = (const void*)(${expression});`
  );
  return `${source}\n#line 1 "${NAMES_FILE}"\n${variables.join("\n")}\n`;
}

/** PTX of such a source: without the variables, and the name that each expression has in it. */
export function readNames(
  ptx: string,
  expressions: readonly string[],
): { ptx: string; loweredNames: Map<string, string> } {
  const loweredNames = new Map<string, string>();
  const rest = ptx.replace(NAME, (_, index: string, name: string) => {
    loweredNames.set(expressions[Number(index)]!, name);
    return "";
  });
  return { ptx: rest, loweredNames };
}
