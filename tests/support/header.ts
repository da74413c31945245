/**
 * Reads the headers of the C ABI: `csrc/gridstride*.h`.
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

const FOLDER = new URL("../../csrc/", import.meta.url);
const HEADERS: readonly string[] = ["gridstride.h", "gridstride_kernel.h", "gridstride_status.h"];

/** The text of all headers of the C ABI. */
export function headerText(): string {
  return HEADERS.map((name) => Deno.readTextFileSync(new URL(name, FOLDER))).join("\n");
}

function ffiType(declaration: string): "i32" | "f64" | "buffer" {
  if (declaration.includes("*")) return "buffer";
  if (/^int32_t \w+$/.test(declaration)) return "i32";
  if (/^double \w+$/.test(declaration)) return "f64";
  throw new TypeError(
    `The header has a parameter of a type the seam does not allow: ${declaration}`,
  );
}

/** All functions of the headers, in their order. */
export function headerFunctions(): HeaderFunction[] {
  const text = headerText();
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

/** The number of declarations in the headers, counted in another way. */
export function declarationCount(): number {
  return headerText().split("\n").filter((line) => line.startsWith("GS_API ")).length;
}
