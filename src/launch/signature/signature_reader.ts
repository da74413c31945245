/**
 * The grammar of a kernel's C signature at run time.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { bytesPerElement } from "../../memory/dtype.ts";
import {
  ATTRIBUTE_WORDS,
  C_TYPE_WORDS,
  ELABORATED_WORDS,
  IGNORED_QUALIFIERS,
  RESTRICT_QUALIFIERS,
  scalarTypeOf,
  vectorTypeOf,
} from "./c_types.ts";
import type { KernelParameter, PointeeType, PointerParameter } from "./signature.ts";
import { StructType, type StructTypes } from "./struct_type.ts";
import { matchBrackets, NONE, type Token, tokenize } from "./tokens.ts";

const MAX_EXCERPT = 64;

const POINTER_BYTES = 8;

const IDENTIFIER = /^[A-Za-z_][A-Za-z_0-9]*$/;

/** Words that may stand before a kernel's name. */
const HEAD_WORDS: ReadonlySet<string> = new Set(
  ["extern", '"C"', "static", "inline", "__global__", "void"],
);

// ---- Tokens --------------------------------------------------------------------------------------

type SignatureToken = Pick<Token, "text" | "start" | "end">;

/** Whether two signs that belong together, such as `[[`, stand at an index. */
function isDouble(tokens: readonly SignatureToken[], index: number, text: string): boolean {
  const [first, second] = [tokens[index], tokens[index + 1]];
  return first?.text === text && second?.text === text && first.end === second.start;
}

/** Leaves out attributes: they do not change how a kernel is called. */
function withoutAttributes(tokens: readonly SignatureToken[]): SignatureToken[] {
  const partners = matchBrackets(
    tokens.map(({ text }) => ({ text: /^[()]$/.test(text) ? text : "" })),
  );
  const kept: SignatureToken[] = [];
  // The last `]]`: without one behind, `[[` begins no attribute.
  const last = tokens.findLastIndex((_, index) => isDouble(tokens, index, "]"));
  for (let index = 0; index < tokens.length; index++) {
    if (isDouble(tokens, index, "[") && index + 2 <= last) {
      index += 2;
      while (!isDouble(tokens, index, "]")) index++;
      index++;
    } else if (ATTRIBUTE_WORDS.has(tokens[index]!.text) && partners[index + 1]! > index) {
      index = partners[index + 1]!;
    } else kept.push(tokens[index]!);
  }
  return kept;
}

/** The part of a text around an offset, on one line. */
function excerpt(text: string, offset: number): string {
  const start = Math.max(0, Math.min(offset - MAX_EXCERPT / 2, text.length - MAX_EXCERPT));
  const end = start + MAX_EXCERPT;
  const shown = text.slice(start, end).replaceAll(/\s+/g, " ");
  return `${start > 0 ? "…" : ""}${shown}${end < text.length ? "…" : ""}`;
}

/** Walks over the tokens of one signature, without its comments and attributes. */
export class SignatureReader {
  readonly #text: string;
  readonly #tokens: readonly SignatureToken[];
  readonly #partners: Int32Array;
  #index = 0;

  constructor(text: string) {
    this.#text = text;
    const tokens = tokenize(text).filter(({ kind }) => kind !== "space");
    const isUnended = ({ kind, text }: Token) =>
      kind === "comment" && text.startsWith("/*") && (text.length < 4 || !text.endsWith("*/"));
    const unended = tokens.find(isUnended);
    if (unended !== undefined) this.fail("a comment begins here and has no end", unended);
    this.#tokens = [
      ...withoutAttributes(tokens.filter(({ kind }) => kind !== "comment")),
      { text: "", start: text.length, end: text.length },
    ];
    this.#partners = matchBrackets(this.#tokens);
  }

  /** The token that {@linkcode SignatureReader.take} will return. */
  get next(): SignatureToken {
    return this.#tokens[this.#index]!;
  }

  get atEnd(): boolean {
    return this.next.text === "";
  }

  get atWord(): boolean {
    return IDENTIFIER.test(this.next.text);
  }

  /** Whether the next token can be the name of a kernel or a parameter. */
  get atName(): boolean {
    const { text } = this.next;
    return this.atWord && text !== "const" && !C_TYPE_WORDS.has(text) &&
      !IGNORED_QUALIFIERS.has(text) && !RESTRICT_QUALIFIERS.has(text);
  }

  get touches(): boolean {
    return this.#tokens[this.#index - 1]?.end === this.next.start;
  }

  /** Returns the next token and moves on to the one behind it. */
  take(): SignatureToken {
    const token = this.next;
    if (!this.atEnd) this.#index++;
    return token;
  }

  takeIf(text: string): boolean {
    const found = this.next.text === text && text !== "";
    if (found) this.#index++;
    return found;
  }

  /** Takes all tokens from the next opening bracket to the one that closes it. */
  takeGroup(problem: string, at: SignatureToken = this.next): string[] {
    const start = this.#index;
    const close = this.#partners[start]!;
    const texts = this.#tokens.slice(start, close + 1).map(({ text }) => text);
    const isUnmatched = (text: string, index: number) =>
      /^[()[\]{}]$/.test(text) && this.#partners[start + index] === NONE;
    if (close <= start || texts.some(isUnmatched)) this.fail(problem, at);
    this.#index = close + 1;
    return texts;
  }

  follows(...texts: readonly string[]): boolean {
    return texts.every((text, ahead) => this.#tokens[this.#index + ahead]?.text === text);
  }

  describeNext(): string {
    return this.atEnd ? "the end" : JSON.stringify(this.next.text);
  }

  fail(problem: string, at: SignatureToken = this.next): never {
    throw new SyntaxError(
      `Cannot read the kernel signature "${excerpt(this.#text, at.start)}" ` +
        `at character ${at.start + 1}: ${problem}`,
    );
  }
}

// ---- Names ---------------------------------------------------------------------------------------

/** Appends a token to a name: with a space only between two words. */
function joined(text: string, token: string): string {
  return /\w$/.test(text) && /^\w/.test(token) ? `${text} ${token}` : text + token;
}

function requireAttached(reader: SignatureReader): void {
  if (!reader.touches) reader.fail('nothing can stand between "::" and a name');
}

/**
 * Reads a name with its namespaces and template arguments; a part follows its `::` without white
 * space. The result has white space only between two words, and no leading `::`.
 */
function readQualifiedName(reader: SignatureReader): string {
  if (reader.takeIf("::")) requireAttached(reader);
  let name = "";
  while (true) {
    if (!reader.atWord) reader.fail(`a name is expected: it is ${reader.describeNext()}`);
    name += reader.take().text;
    if (reader.next.text === "<") {
      name += reader.takeGroup("a list of template arguments begins here and has no end").reduce(
        joined,
      );
    }
    if (reader.next.text !== "::" || !reader.touches) return name;
    reader.take();
    requireAttached(reader);
    name += "::";
  }
}

/** Reads the text before a kernel's parameters, and returns the kernel's name. */
export function readKernelName(reader: SignatureReader): string {
  while (HEAD_WORDS.has(reader.next.text)) reader.take();
  if (reader.next.text === "template") {
    reader.fail('a template has no parameters by itself: an instance reads "name<arguments>(…)"');
  }
  if (reader.next.text !== "::" && !reader.atName) {
    reader.fail(`a kernel's name is expected: it is ${reader.describeNext()}`);
  }
  return readQualifiedName(reader);
}

/**
 * The kernel that a text names, by its name alone or by its signature; without the latter it has no
 * parameters.
 */
export function requestedKernel(
  text: string,
): { readonly name: string; readonly parameters: string | undefined } {
  const reader = new SignatureReader(text);
  const name = readKernelName(reader);
  if (reader.atEnd) return { name, parameters: undefined };
  if (reader.next.text === "(") {
    const parameters = text.slice(reader.next.end, Math.max(0, text.lastIndexOf(")")));
    return { name, parameters };
  }
  return reader.fail(`what follows the kernel's name must be "(": it is ${reader.describeNext()}`);
}

// ---- Parameters ----------------------------------------------------------------------------------

/** A type's name without white space and without a leading `::`. */
function typeKey(name: string): string {
  return name.replaceAll(/\s+/g, "").replace(/^::/, "");
}

/** Structs by the names that signatures give them: their own, or those of a record. */
export function structsByName(structs: StructTypes): ReadonlyMap<string, StructType> {
  const found = new Map<string, StructType>();
  if (typeof structs !== "object" || structs === null) {
    throw new TypeError(
      "Cannot read a kernel signature as its structs must be an array or an object: they are " +
        describeValue(structs),
    );
  }
  for (const [name, struct] of Object.entries<unknown>(structs)) {
    if (!(struct instanceof StructType)) {
      throw new TypeError(
        `Cannot read a kernel signature as struct ${name} must be a result of defineStruct(): ` +
          `it is ${describeValue(struct)}`,
      );
    }
    const key = typeKey(Array.isArray(structs) ? struct.name : name);
    if ((found.get(key) ?? struct) !== struct) {
      throw new TypeError(
        `Cannot read a kernel signature as structs must have different names: two are ${key}`,
      );
    }
    found.set(key, struct);
  }
  return found;
}

/** The type that a parameter's leading words name. */
interface NamedType {
  readonly type: PointeeType;
  readonly isConst: boolean;
  readonly at: SignatureToken;
}

/** Reads a parameter up to the comma or parenthesis that ends it. */
export function readParameter(
  reader: SignatureReader,
  position: number,
  structs: ReadonlyMap<string, StructType>,
): KernelParameter {
  const place = `parameter ${position}`;
  const named = readType(reader, place, structs);
  const parameter = reader.takeIf("*")
    ? readPointer(reader, named, place)
    : readValue(reader, named, place);
  if (reader.takeIf("=")) skipDefault(reader, place);
  return parameter;
}

/** Reads the rest of a parameter that is a value or an array. */
function readValue(reader: SignatureReader, named: NamedType, place: string): KernelParameter {
  refuseDeclarator(reader, place);
  const name = readOptionalName(reader);
  if (reader.next.text === "[") {
    // An array is a pointer, whatever its extents.
    while (reader.next.text === "[") {
      reader.takeGroup(`${place}: an array begins here and has no end`);
    }
    return pointerParameter(named, name);
  }
  const { type, isConst, at } = named;
  if (type === "void") reader.fail(`${place}: "void" is no parameter by itself`, at);
  if (typeof type === "string") {
    const bytes = bytesPerElement(type);
    return { kind: "scalar", ...name, type, isConst, bytes, alignment: bytes };
  }
  const { bytes, alignment } = type;
  return type instanceof StructType
    ? { kind: "struct", ...name, type, isConst, bytes, alignment }
    : { kind: "vector", ...name, type, isConst, bytes, alignment };
}

/** Reads the rest of a pointer, behind its `*`. */
function readPointer(reader: SignatureReader, named: NamedType, place: string): PointerParameter {
  while (
    reader.next.text === "const" || IGNORED_QUALIFIERS.has(reader.next.text) ||
    RESTRICT_QUALIFIERS.has(reader.next.text)
  ) reader.take();
  if (reader.next.text === "*") {
    reader.fail(`${place}: a pointer to a pointer has no device memory that fits`);
  }
  refuseDeclarator(reader, place);
  const name = readOptionalName(reader);
  if (reader.next.text === "[") {
    reader.fail(`${place}: an array of pointers has no device memory that fits`);
  }
  return pointerParameter(named, name);
}

function refuseDeclarator(reader: SignatureReader, place: string): void {
  if (/^&&?$/.test(reader.next.text)) {
    reader.fail(`${place}: a reference cannot be passed: a kernel takes a value or a pointer`);
  }
  if (reader.next.text === "(") {
    reader.fail(`${place}: a pointer to a function or an array cannot be passed`);
  }
}

function pointerParameter(
  { type, isConst }: NamedType,
  name: { readonly name?: string },
): PointerParameter {
  const shared = { kind: "pointer", ...name, type, isConst, bytes: POINTER_BYTES } as const;
  const alignment = POINTER_BYTES;
  if (type === "void") return { ...shared, alignment, pointeeBytes: 1, pointeeAlignment: 1 };
  if (typeof type === "string") {
    const bytes = bytesPerElement(type);
    return { ...shared, alignment, dtype: type, pointeeBytes: bytes, pointeeAlignment: bytes };
  }
  const dtype = type instanceof StructType ? "uint8" : type.element;
  const { bytes: pointeeBytes, alignment: pointeeAlignment } = type;
  return { ...shared, alignment, dtype, pointeeBytes, pointeeAlignment };
}

function readOptionalName(reader: SignatureReader): { readonly name?: string } {
  return reader.atName ? { name: reader.take().text } : {};
}

/** Skips a parameter's default value: a launch gives every argument. */
function skipDefault(reader: SignatureReader, place: string): void {
  const start = reader.next;
  const problem = `${place}: the brackets of the default value that begins here do not match`;
  if (/^[,)]?$/.test(start.text)) reader.fail(`${place} must have a value behind "="`);
  while (!/^[,)]?$/.test(reader.next.text)) {
    if (/^[[({<]$/.test(reader.next.text)) reader.takeGroup(problem, start);
    else if (/^[\]}>]$/.test(reader.take().text)) reader.fail(problem, start);
  }
}

/** Reads the type that begins a parameter: its words and qualifiers. */
function readType(
  reader: SignatureReader,
  place: string,
  structs: ReadonlyMap<string, StructType>,
): NamedType {
  let at = reader.next;
  let spelling = "";
  let isConst = false;
  while (true) {
    const { text } = reader.next;
    if (text === "const") {
      isConst = true;
      reader.take();
    } else if (IGNORED_QUALIFIERS.has(text) || (spelling === "" && ELABORATED_WORDS.has(text))) {
      reader.take();
    } else if (
      spelling === "" && (reader.atWord || text === "::") && !RESTRICT_QUALIFIERS.has(text)
    ) {
      at = reader.next;
      spelling = readQualifiedName(reader);
    } else if (C_TYPE_WORDS.has(text)) spelling += ` ${reader.take().text}`;
    else break;
  }
  const type = spelling === "void"
    ? spelling
    : scalarTypeOf(spelling) ?? vectorTypeOf(spelling) ?? structs.get(typeKey(spelling));
  if (type !== undefined) return { type, isConst, at };
  if (spelling === "") reader.fail(`${place}: a type is expected: it is ${reader.describeNext()}`);
  const problem = `"${spelling}" is not a type a kernel can take`;
  // A spelling of C's own words cannot name a struct.
  const isStruct = !spelling.split(" ").every((word) => C_TYPE_WORDS.has(word));
  return reader.fail(`${place}: ${problem}${isStruct ? ": a struct must be described" : ""}`, at);
}
