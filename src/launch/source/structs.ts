/**
 * The structs that a source declares, described as `defineStruct()` would.
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { type CompileOptions, compileSettings } from "../module/compile_options.ts";
import {
  C_TYPE_WORDS,
  ELABORATED_WORDS,
  scalarTypeOf,
  vectorTypeOf,
} from "../signature/c_types.ts";
import { type StructFields, StructType } from "../signature/struct_type.ts";
import { NONE, textOfTokens } from "../signature/tokens.ts";
import {
  type Declaration,
  type Declarator,
  declaratorsOf,
  declaredName,
  membersOf,
} from "./declarations.ts";
import { readSource, type SourceContext } from "./source_context.ts";

/**
 * Describes the structs that a source and its headers declare, as `defineStruct()` would: structs of
 * scalars, vectors, arrays and other such structs. Loading a kernel fails if a layout differs in size
 * from the compiler's.
 *
 * TypeScript knows nothing of their fields: describe a struct that a program passes by its own names
 * with `defineStruct()`.
 *
 * @param source CUDA C++.
 * @param options Its macros and headers, as `device.compile()` takes them.
 * @returns The structs by their names in C++, and without namespaces if that is unambiguous; and the
 * reasons why others cannot be described, by their names.
 * @throws {TypeError | RangeError} If an option is wrong.
 *
 * @example
 * ```ts
 * import { openDevice, readStructs } from "@gridstride/cuda";
 *
 * const source: string = `
 *   struct Box { float2 corner; float extents[2]; };
 *   __global__ void area(Box box, float* out) { *out = box.extents[0] * box.extents[1]; }`;
 * const { structs } = readStructs(source);
 *
 * using device = openDevice();
 * using module = await device.compile(source, { structs });
 * using out = device.allocate("float32", 1);
 * const box = { corner: [0, 0], extents: [2, 3] };
 * module.kernel("area").launch({ grid: 1, block: 1 }, box, out);
 * console.log(await out.toArray()); // Float32Array(1) [ 6 ]
 * ```
 * @category Launching kernels
 */
export function readStructs(
  source: string,
  options: Pick<CompileOptions, "defines" | "headers"> = {},
): {
  readonly structs: Readonly<Record<string, StructType>>;
  readonly refused: Readonly<Record<string, string>>;
} {
  if (typeof source !== "string") {
    throw new TypeError(
      `Cannot read structs as the source must be a text: it is ${describeValue(source)}`,
    );
  }
  requireOptions(options, ["defines", "headers"], "read structs");
  const { defines, headers } = compileSettings(options);
  // Headers that the source does not include count as well.
  const all = [source, ...[...headers.keys()].map((name) => `#include "${name}"`)].join("\n");
  const context = readSource(all, { defines, headers });
  return new StructReader([...context.headers, context]).read();
}

/** The reason why a struct cannot be described; completes "struct S cannot be described as …". */
class UndescribedError extends Error {
  override name = "UndescribedError";
}

interface FoundStruct {
  readonly context: SourceContext;
  readonly declaration: Declaration;
  /** The namespaces and structs around it, and its own name. */
  readonly path: readonly string[];
  readonly isAmbiguous: boolean;
}

const MAX_NESTING = 64;

/** Words beside a type that do not change a member's layout. */
const QUALIFIERS: ReadonlySet<string> = new Set([
  ...["const", "volatile", "mutable"],
  ...ELABORATED_WORDS,
]);

class StructReader {
  readonly #found = new Map<string, FoundStruct>();
  readonly #constants = new Map<string, bigint>();
  readonly #structs = new Map<string, StructType>();
  readonly #refused = new Map<string, string>();

  constructor(contexts: readonly SourceContext[]) {
    for (const context of contexts) {
      for (const declaration of context.list.declarations) {
        this.#noteConstant(context, declaration);
        this.#noteStruct(context, declaration, declaration.namespaces);
      }
    }
  }

  read(): { structs: Record<string, StructType>; refused: Record<string, string> } {
    for (const name of this.#found.keys()) this.#struct(name);
    // Names without namespaces, as signatures in the same namespace have them.
    const byShortName = Map.groupBy(
      this.#found.keys().flatMap((name) => shorterNames(name).map((short) => ({ name, short }))),
      ({ short }) => short,
    );
    const short = [...byShortName].flatMap(([short, [first, ...others]]) => {
      const struct = this.#structs.get(first!.name);
      const isClear = others.length === 0 && !this.#found.has(short) && struct !== undefined;
      return isClear ? [[short, struct] as const] : [];
    });
    return {
      structs: Object.fromEntries([...short, ...this.#structs]),
      refused: Object.fromEntries(this.#refused),
    };
  }

  #noteConstant(context: SourceContext, { kind, head, initialiser, last }: Declaration): void {
    if (kind !== "variable" || initialiser === NONE) return;
    const { tokens } = context.list;
    const words = tokens.slice(head, initialiser).map(({ text }) => text);
    const isConstant = words.includes("constexpr") || words.includes("const");
    if (!isConstant || words.some((word) => /^(?:float|double|half|\*|\[)$/.test(word))) return;
    const end = tokens[initialiser]!.text === "{" ? last - 1 : last;
    const value = this.#integer(context, textOfTokens(tokens.slice(initialiser + 1, end)));
    if (value !== undefined) this.#constants.set(words.at(-1)!, value);
  }

  #integer({ macros }: SourceContext, text: string): bigint | undefined {
    return macros.valueOf(
      text.replaceAll(/[A-Za-z_]\w*/g, (word) => `${this.#constants.get(word) ?? word}`),
    );
  }

  /** Notes a struct that is defined here, and those in it. */
  #noteStruct(context: SourceContext, declaration: Declaration, scope: readonly string[]): void {
    const { tokens } = context.list;
    const { kind, templateHeads, head, body, last } = declaration;
    const isTypedef = kind === "alias" && tokens[head]!.text === "typedef";
    if (body === NONE || templateHeads > 0 || kind !== "class" && !isTypedef) return;
    if (!/^(?:struct|class)$/.test(tokens[isTypedef ? head + 1 : head]!.text)) return;
    const name = isTypedef ? tokens[last - 1]!.text : declaredName(context.list, declaration);
    if (!/^[A-Za-z_]\w*$/.test(name) || scope.length > MAX_NESTING) return;
    const path = [...scope, name];
    const key = path.join("::");
    const isAmbiguous = this.#found.has(key);
    this.#found.set(key, { context, declaration, path, isAmbiguous });
    for (const member of membersOf(context.list, declaration)) {
      this.#noteStruct(context, member, path);
    }
  }

  /** The struct of a name; undefined if there is none or it cannot be described. */
  #struct(name: string): StructType | undefined {
    const known = this.#structs.get(name);
    const found = this.#found.get(name);
    if (known !== undefined || found === undefined || this.#refused.has(name)) return known;
    // Until it is described: a struct cannot contain itself.
    this.#refused.set(name, "it contains itself");
    try {
      const struct = this.#described(name, found);
      this.#structs.set(name, struct);
      this.#refused.delete(name);
      return struct;
    } catch (error) {
      // StructType throws the other two for fields that it cannot lay out.
      const isReason = error instanceof UndescribedError || error instanceof TypeError ||
        error instanceof RangeError;
      if (!isReason) throw error;
      this.#refused.set(name, error.message);
      return undefined;
    }
  }

  #described(name: string, { context, declaration, path, isAmbiguous }: FoundStruct): StructType {
    const { tokens } = context.list;
    const { first, last } = declaration;
    if (isAmbiguous) throw new UndescribedError("it is declared more than once");
    if (tokens.slice(first, last + 1).some(({ conditional }) => conditional)) {
      throw new UndescribedError("a condition that only the compiler can decide is in it");
    }
    if (context.isPacked) throw new UndescribedError("#pragma pack is in its source");
    const alignment = this.#headAlignment(context, declaration);
    const fields = new Map<string, StructFields[string]>();
    for (const part of membersOf(context.list, declaration)) {
      const declarators = memberDeclarators(context, part, path.at(-1)!);
      const type = declarators.length === 0 ? "" : typeOf(declarators[0]!);
      for (const declarator of declarators) {
        const member = declarator.name!.text;
        if (fields.has(member)) {
          throw new UndescribedError(`two of its members are called ${member}`);
        }
        fields.set(member, this.#field(member, type, declarator, context, path));
      }
    }
    return new StructType(name, Object.fromEntries(fields), { alignment });
  }

  #headAlignment(context: SourceContext, { head, body, last }: Declaration): number {
    const { tokens, partners } = context.list;
    let alignment = 1;
    for (let at = head; at < body; at++) {
      const { text } = tokens[at]!;
      if (text === ":") throw new UndescribedError("it is derived from another");
      if (text !== "(") continue;
      const word = tokens[at - 1]!.text;
      const inner = textOfTokens(tokens.slice(at + 1, partners[at]!));
      const aligned = word === "__attribute__"
        ? /^\(\s*aligned\s*\((.*)\)\s*\)$/s.exec(inner)?.[1]
        : /^(?:alignas|__align__)$/.test(word)
        ? inner
        : undefined;
      const value = aligned === undefined ? undefined : this.#integer(context, aligned);
      if (value === undefined) throw new UndescribedError(`the value of its ${word} is unknown`);
      alignment = Math.max(alignment, Number(value));
      at = partners[at]!;
    }
    // struct S { … } __attribute__((packed));
    if (tokens[last - 1]?.text === ")") throw new UndescribedError("something follows its body");
    return alignment;
  }

  #field(
    name: string,
    type: string,
    { extents }: Declarator,
    context: SourceContext,
    scope: readonly string[],
  ): StructFields[string] {
    const sizes = extents.map((extent) => {
      const value = this.#integer(context, textOfTokens(extent));
      if (value !== undefined && value >= 1n) return Number(value);
      throw new UndescribedError(`its member ${name} has an extent that is unknown`);
    });
    const resolved = context.aliases.get(type) ?? type;
    if (scalarTypeOf(resolved) !== undefined || vectorTypeOf(resolved) !== undefined) {
      return resolved + sizes.map((size) => `[${size}]`).join("");
    }
    const struct = this.#structNamed(resolved, scope);
    if (struct === undefined) {
      throw new UndescribedError(
        `its member ${name} is of type ${type}, which cannot be described`,
      );
    }
    if (sizes.length > 1) {
      throw new UndescribedError(`its member ${name} is an array of arrays of structs`);
    }
    return sizes.length === 0 ? struct : [struct, sizes[0]!];
  }

  #structNamed(name: string, scope: readonly string[]): StructType | undefined {
    if (name.startsWith("::")) return this.#struct(name.slice(2));
    for (let depth = scope.length; depth >= 0; depth--) {
      const candidate = [...scope.slice(0, depth), name].join("::");
      if (this.#found.has(candidate)) return this.#struct(candidate);
    }
    return undefined;
  }
}

/** The shorter names of `a::b::C`: `b::C` and `C`. */
function shorterNames(name: string): string[] {
  const parts = name.split("::");
  return parts.slice(1).map((_, index) => parts.slice(index + 1).join("::"));
}

// ---- Members -------------------------------------------------------------------------------------

/** The declarators of a member with a place in the struct; none of functions, types and statics. */
function memberDeclarators(
  { list }: SourceContext,
  { kind, head, body, last, parameters }: Declaration,
  owner: string,
): readonly Declarator[] {
  const { tokens } = list;
  const words = tokens.slice(head, last + 1).map(({ text }) => text);
  if (words.includes("virtual")) throw new UndescribedError("it has virtual functions");
  if (kind === "alias" || /^(?:static|friend|static_assert)$/.test(words[0]!)) return [];
  if (words[0] === "enum" && body !== NONE) return [];
  // The members of a class without a name belong to the class around it.
  const isNamedClass = kind === "class" && body !== head + 1;
  if (isNamedClass && (body === NONE || words.at(-2) === "}")) return [];
  if (kind === "function") {
    // Not a function: `float (*pointer)(int);`.
    const before = tokens[parameters - 1]!;
    const isNamed = before.kind === "word" && !C_TYPE_WORDS.has(before.text) &&
      (parameters - 1 > head || before.text === owner);
    const isDeclarator = /^(?:\*|&|&&|\()$/.test(tokens[parameters + 1]!.text);
    if (words.includes("operator") || isNamed && !isDeclarator) return [];
  }
  const isPlain = kind === "variable" &&
    !words.some((word) => /^(?:alignas|__align__|__attribute__)$/.test(word));
  const declarators = isPlain ? declaratorsOf(list, head, last) : [];
  const areValues = declarators.every(({ before, name, end }) =>
    name !== undefined && end !== ":" && end !== "(" &&
    !before.some(({ text }) => /^(?:\*|&|&&|<)$/.test(text))
  );
  if (isPlain && areValues) return declarators;
  throw new UndescribedError(
    `its member ${words.slice(0, -1).join(" ")} is not declared by a type and a name alone`,
  );
}

function typeOf({ before }: Declarator): string {
  return before.map(({ text }) => text).filter((word) => !QUALIFIERS.has(word)).join(" ")
    .replaceAll(" :: ", "::").replace(/^:: /, "::");
}
