/**
 * The structs that a source declares, described as `defineStruct()` would.
 *
 * @module
 */

import { scalarTypeOf, vectorTypeOf } from "../signature/c_types.ts";
type StructField = StructFields[string];
import { type StructFields, StructType } from "../signature/struct_type.ts";
import { NONE } from "./brackets.ts";
import { integerOf } from "./condition.ts";
import { type Declaration, membersOf } from "./declarations.ts";
import { declaredName } from "./declared_names.ts";
import type { SourceContext } from "./source_context.ts";
import {
  type Constants,
  constantsOf,
  membersIn,
  type StructMember,
  UndescribedError,
} from "./struct_member.ts";

/** What the structs of a source come to. */
export interface StructReading {
  /**
   * Those that kernels can be given, by their names in C++, and without what they are declared in
   * where that leaves no doubt.
   */
  readonly structs: Readonly<Record<string, StructType>>;
  /** Why others cannot, by their names; completes "struct S cannot be described as …". */
  readonly refused: Readonly<Record<string, string>>;
}

/** A struct's declaration, and where it stands. */
interface FoundStruct {
  readonly context: SourceContext;
  readonly declaration: Declaration;
  /** The namespaces and structs that it is declared in. */
  readonly scope: readonly string[];
  readonly isAmbiguous: boolean;
}

/** Structs in each other deeper than this are not described. */
const DEEPEST = 64;

/** Reads the structs of texts that are compiled as one. */
export function structsIn(contexts: readonly SourceContext[]): StructReading {
  return new StructReader(contexts).read();
}

class StructReader {
  readonly #found = new Map<string, FoundStruct>();
  readonly #constants: Constants;
  readonly #structs = new Map<string, StructType>();
  readonly #refused = new Map<string, string>();
  readonly #packed = new Map<SourceContext, boolean>();
  /** In how many structs within each other the innermost of each lies. */
  readonly #nesting = new Map<StructType, number>();
  #depth = 0;

  constructor(contexts: readonly SourceContext[]) {
    this.#constants = new Map(contexts.flatMap((context) => [...constantsOf(context)]));
    for (const context of contexts) {
      for (const declaration of context.list.declarations) {
        this.#note(context, declaration, declaration.namespaces);
      }
    }
  }

  read(): StructReading {
    for (const name of this.#found.keys()) this.#struct(name);
    return {
      structs: Object.fromEntries([...this.#shortNames(), ...this.#structs]),
      refused: Object.fromEntries(this.#refused),
    };
  }

  /** Names without namespaces, as signatures in the same namespace have them. */
  #shortNames(): Map<string, StructType> {
    const counts = new Map<string, number>();
    for (const name of this.#found.keys()) {
      for (const short of shorter(name)) counts.set(short, (counts.get(short) ?? 0) + 1);
    }
    const names = [...this.#structs].flatMap(([name, struct]) =>
      shorter(name).filter((short) => counts.get(short) === 1 && !this.#found.has(short))
        .map((short): [string, StructType] => [short, struct])
    );
    return new Map(names);
  }

  /** Notes a struct that is defined here, and those in it. */
  #note(context: SourceContext, declaration: Declaration, scope: readonly string[]): void {
    const name = structName(context, declaration);
    if (name === undefined || scope.length > DEEPEST) return;
    const path = [...scope, name];
    const key = path.join("::");
    const isAmbiguous = this.#found.has(key);
    this.#found.set(key, { context, declaration, scope: path, isAmbiguous });
    for (const member of membersOf(context.list, declaration)) this.#note(context, member, path);
  }

  /** The struct of a name; undefined where there is none or it cannot be described. */
  #struct(name: string): StructType | undefined {
    const known = this.#structs.get(name);
    const found = this.#found.get(name);
    if (known !== undefined || found === undefined || this.#refused.has(name)) return known;
    // Until it is known: a struct that contains itself is no struct.
    this.#refused.set(name, "it contains itself");
    this.#depth++;
    try {
      if (this.#depth > DEEPEST) throw new UndescribedError("too many structs are in each other");
      const struct = this.#described(name, found);
      this.#structs.set(name, struct);
      this.#refused.delete(name);
      return struct;
    } catch (error) {
      if (!(error instanceof UndescribedError || isAboutFields(error))) throw error;
      this.#refused.set(name, error.message);
      return undefined;
    } finally {
      this.#depth--;
    }
  }

  #described(name: string, found: FoundStruct): StructType {
    const { context, declaration, scope, isAmbiguous } = found;
    if (isAmbiguous) throw new UndescribedError("it is declared more than once");
    requireCertain(context, declaration);
    if (this.#isPacked(context)) throw new UndescribedError("#pragma pack is in its source");
    const alignment = headAlignment(context, declaration, this.#constants);
    const fields = new Map<string, StructField>();
    for (const part of membersOf(context.list, declaration)) {
      for (const member of membersIn(context, part, this.#constants, scope.at(-1)!)) {
        if (fields.has(member.name)) {
          throw new UndescribedError(`two of its members are called ${member.name}`);
        }
        fields.set(member.name, this.#field(member, context, scope));
      }
    }
    let nesting = 1;
    for (const field of fields.values()) nesting = Math.max(nesting, 1 + this.#nestingOf(field));
    if (nesting > DEEPEST) throw new UndescribedError("too many structs are in each other");
    const struct = new StructType(name, Object.fromEntries(fields) as StructFields, { alignment });
    this.#nesting.set(struct, nesting);
    return struct;
  }

  #nestingOf(field: StructField): number {
    const type = Array.isArray(field) ? field[0] : field;
    return type instanceof StructType ? this.#nesting.get(type)! : 0;
  }

  /** Whether a source says how structs are packed: which of them are meant is not looked at. */
  #isPacked(context: SourceContext): boolean {
    const known = this.#packed.get(context);
    if (known !== undefined) return known;
    const packed = context.allTokens.some(({ kind, text }) =>
      kind === "directive" && /^#\s*pragma\s+pack\b/.test(text)
    );
    this.#packed.set(context, packed);
    return packed;
  }

  #field({ name, type, extents }: StructMember, context: SourceContext, scope: readonly string[]) {
    const resolved = context.aliases.resolve(type);
    if (scalarTypeOf(resolved) !== undefined || vectorTypeOf(resolved) !== undefined) {
      return resolved + extents.map((extent) => `[${extent}]`).join("");
    }
    const struct = this.#structNamed(resolved, scope);
    if (struct === undefined) {
      throw new UndescribedError(
        `its member ${name} is of type ${type}, which cannot be described`,
      );
    }
    if (extents.length > 1) {
      throw new UndescribedError(`its member ${name} is an array of arrays of structs`);
    }
    return extents.length === 0 ? struct : [struct, extents[0]!] as const;
  }

  /** The struct that a name means where it stands. */
  #structNamed(name: string, scope: readonly string[]): StructType | undefined {
    if (name.startsWith("::")) return this.#struct(name.slice(2));
    for (let depth = scope.length; depth >= 0; depth--) {
      const candidate = [...scope.slice(0, depth), name].join("::");
      if (this.#found.has(candidate)) return this.#struct(candidate);
    }
    return undefined;
  }
}

/** What a name may be called inside of its namespaces: of `a::b::C` that is `b::C` and `C`. */
function shorter(name: string): string[] {
  const parts = name.split("::");
  return parts.slice(1).map((_, index) => parts.slice(index + 1).join("::"));
}

/** Makes sure that the compiler sees the declaration that is seen here. */
function requireCertain({ list }: SourceContext, { first, last }: Declaration): void {
  if (list.tokens.slice(first, last + 1).some(({ conditional }) => conditional)) {
    throw new UndescribedError("a condition that only the compiler can decide is in it");
  }
}

/** What `StructType` says of fields that it cannot lay out. */
function isAboutFields(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof RangeError;
}

/** The name of a struct that is defined here; undefined of all else. */
function structName(context: SourceContext, declaration: Declaration): string | undefined {
  const { tokens } = context.list;
  const { kind, templateHeads, head, body, last } = declaration;
  if (body === NONE || templateHeads > 0) return undefined;
  const isTypedef = kind === "alias" && tokens[head]!.text === "typedef";
  if (kind !== "class" && !isTypedef) return undefined;
  const key = tokens[isTypedef ? head + 1 : head]!.text;
  if (key !== "struct" && key !== "class") return undefined;
  const name = isTypedef ? tokens[last - 1]!.text : declaredName(context.list, declaration);
  return /^[A-Za-z_]\w*$/.test(name) ? name : undefined;
}

/**
 * The alignment that a struct's head asks for; 1 where it asks for none.
 *
 * @throws {UndescribedError} If the head says more, such as from what it is derived.
 */
function headAlignment(
  { list: { tokens, partners }, macros }: SourceContext,
  { head, body, last }: Declaration,
  constants: Constants,
): number {
  let alignment = 1;
  for (let at = head; at < body; at++) {
    const { text } = tokens[at]!;
    if (text === ":") throw new UndescribedError("it is derived from another");
    if (text !== "(") continue;
    const word = tokens[at - 1]!.text;
    const inner = tokens.slice(at + 1, partners[at]!).map((token) => token.text).join(" ");
    const extent = /^(?:\( aligned \( (.*) \) \)|(.*))$/s.exec(inner);
    const asked = word === "__attribute__" ? extent?.[1] : inner;
    const value = asked === undefined
      ? undefined
      : integerOf(asked.replaceAll(/\w+/g, (name) => `${constants.get(name) ?? name}`), macros);
    if (value === undefined || !/^(?:alignas|__align__|__attribute__)$/.test(word)) {
      throw new UndescribedError(`its ${word} cannot be told from here`);
    }
    alignment = Math.max(alignment, Number(value));
    at = partners[at]!;
  }
  // Behind the body: struct S { … } __attribute__((packed));
  if (tokens.slice(body, last).at(-1)?.text === ")") {
    throw new UndescribedError("something follows its body");
  }
  return alignment;
}
