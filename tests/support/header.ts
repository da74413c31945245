/**
 * Reads the declarations of `csrc/gridstride.h`.
 *
 * @module
 */

/** A function of the C ABI. */
export interface HeaderFunction {
  /** Its name. */
  readonly name: string;
  /** The C declaration of each parameter, such as `int32_t device`. */
  readonly parameters: readonly string[];
  /** The FFI type of each parameter. */
  readonly types: readonly ("i32" | "f64" | "buffer")[];
  /** Whether its comment says that it may block. */
  readonly waits: boolean;
}

const HEADER = new URL("../../csrc/gridstride.h", import.meta.url);

function ffiType(declaration: string): "i32" | "f64" | "buffer" {
  if (declaration.includes("*")) return "buffer";
  if (/^int32_t \w+$/.test(declaration)) return "i32";
  if (/^double \w+$/.test(declaration)) return "f64";
  throw new TypeError(
    `The header has a parameter of a type the seam does not allow: ${declaration}`,
  );
}

/** All functions of the header, in its order. */
export function headerFunctions(): HeaderFunction[] {
  const text = Deno.readTextFileSync(HEADER);
  const pattern =
    /(\/\*(?:(?!\*\/)[\s\S])*\*\/)\s*(?:#define[^\n]*\n)?GS_API int32_t (gs_\w+)\(([^)]*)\);/g;
  return [...text.matchAll(pattern)].map(([, comment, name, list]) => {
    const parameters = list!.trim() === "void"
      ? []
      : list!.split(",").map((parameter) => parameter.replace(/\s+/g, " ").trim());
    return {
      name: name!,
      parameters,
      types: parameters.map(ffiType),
      waits: comment!.includes("[waits]"),
    };
  });
}

/** The number of declarations in the header, counted in another way. */
export function declarationCount(): number {
  return Deno.readTextFileSync(HEADER).split("\n").filter((line) => line.startsWith("GS_API "))
    .length;
}
