/**
 * What is known of a module: its image, and what its source says of kernels and variables.
 *
 * @module
 */

import type { CompiledImage } from "./compile/compiler.ts";
import type { KernelSignature } from "./signature/signature.ts";
import { overloadIn, readableExpression } from "./source/kernels.ts";
import type { StructTypes } from "./signature/struct_type.ts";

/** A kernel as its source declares it. */
export interface DeclaredKernel {
  /**
   * What names it in C++, with namespaces and, of an instance, template arguments; of one of several
   * of its name a cast that chooses it.
   */
  readonly expression: string;
  /** Its signature as it is written; absent for instances of templates. */
  readonly signature?: string;
  /**
   * That signature as it was read, kept so that a hit in the compile cache need not read it; absent
   * where it names what only a program can describe.
   */
  readonly read?: KernelSignature;
}

/** A kernel of the source of which its name alone did not have the compiler make machine code. */
export interface UncompiledKernel {
  /** Its name in C++. */
  readonly expression: string;
  /**
   * Why: only its instances are kernels, or the compiler alone knows whether it sees it.
   */
  readonly reason: "template" | "condition";
}

/** What a source declares, as far as a module needs to know it. */
export interface SourceDeclarations {
  /** Its kernels that their names alone have compiled. */
  readonly kernels: readonly DeclaredKernel[];
  /** The names of its variables in C++. */
  readonly variables: readonly string[];
  /** Its other kernels. */
  readonly uncompiled: readonly UncompiledKernel[];
}

/** What a module is made of. */
export interface ModuleParts<Structs extends StructTypes> extends SourceDeclarations {
  /** How messages name it. */
  readonly name: string;
  /** Its machine code. */
  readonly image: CompiledImage;
  /** Whether that came from the cache. */
  readonly cached: boolean;
  /** The structs that signatures name. */
  readonly structs: Structs;
}

/** A name in C++ in one spelling: without spaces but between words. */
export function canonicalExpression(expression: string): string {
  return isWord(expression)
    ? expression
    : expression.trim().replaceAll(/\s+/g, " ").replaceAll(/ ?([^\w\s]) ?/g, "$1");
}

/**
 * Whether a text is letters, digits and underscores, as most names are. A loop, as the first uses of
 * a regular expression take a tenth of a millisecond, in which it is compiled twice.
 */
function isWord(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isLetter = code >= 97 && code <= 122 || code >= 65 && code <= 90;
    if (!isLetter && code !== 95 && (code < 48 || code > 57)) return false;
  }
  return true;
}

/** A kernel of a module. */
export interface KernelEntry {
  /** Its name in the machine code. */
  readonly lowered: string;
  /** Its signature as it is written in the source, where that is known. */
  readonly signature?: string;
  /** Of one of several of its name: that with its types as they are called outside namespaces. */
  readonly outside?: string;
}

/** A kernel of a module with its signature. */
export interface ReadKernel {
  /** The kernel. */
  readonly entry: KernelEntry;
  /** What was read of its signature in the source. */
  readonly signature: KernelSignature;
}

/** The contents of a module, by names. */
export class ModuleContents<Structs extends StructTypes = StructTypes> {
  /** How messages name it. */
  readonly name: string;
  /** Its machine code. */
  readonly image: CompiledImage;
  /** Whether that came from the cache. */
  readonly cached: boolean;
  /** The names of its kernels; of those that share one, their signatures. */
  readonly kernelNames: readonly string[];
  /** The names of its variables. */
  readonly variableNames: readonly string[];
  /** What the source declares besides its kernels. */
  readonly uncompiled: readonly UncompiledKernel[];
  /** The structs that signatures name. */
  readonly structs: Structs;
  /** Those of each name. */
  readonly #kernels = new Map<string, KernelEntry[]>();
  /** Those whose signatures were read, by the texts that these were read from. */
  readonly #read = new Map<string, ReadKernel>();
  readonly #variables = new Map<string, string>();
  readonly #isSource: boolean;

  /**
   * Puts together what is known.
   *
   * @param isSource Whether all names are known: of machine code alone, any may be there.
   */
  constructor(parts: ModuleParts<Structs>, isSource: boolean) {
    const { name, image, cached, kernels, variables, uncompiled, structs } = parts;
    this.name = name;
    this.image = image;
    this.cached = cached;
    this.uncompiled = uncompiled;
    this.structs = structs;
    this.#isSource = isSource;
    // The image may be of a request that spelled the same names otherwise.
    const names = new Map(
      [...image.loweredNames].map(([name, lowered]) => [canonicalExpression(name), lowered]),
    );
    this.kernelNames = kernels.map((kernel) => this.#addKernel(kernel, names));
    for (const variable of variables) {
      const name = canonicalExpression(variable);
      this.#variables.set(name, names.get(`&${name}`) ?? variable);
    }
    this.variableNames = [...this.#variables.keys()];
  }

  /** Notes a kernel, and returns what it is asked for by: its name, or its signature. */
  #addKernel(
    { expression, signature, read }: DeclaredKernel,
    names: ReadonlyMap<string, string>,
  ): string {
    const whole = canonicalExpression(expression);
    const lowered = names.get(whole) ?? expression;
    const overload = overloadIn(expression);
    const name = overload === undefined ? whole : canonicalExpression(overload.name);
    const entry: KernelEntry = {
      lowered,
      ...(signature === undefined ? {} : { signature }),
      ...(overload === undefined ? {} : { outside: readableExpression(expression) }),
    };
    // A program's structs may give its types another meaning.
    if (signature !== undefined && read !== undefined && Object.keys(this.structs).length === 0) {
      this.#read.set(signature, { entry, signature: read });
    }
    const same = this.#kernels.get(name);
    if (same === undefined) this.#kernels.set(name, [entry]);
    else same.push(entry);
    return overload === undefined ? name : signature ?? readableExpression(expression);
  }

  /** The kernel whose signature was read from this very text. */
  readKernel(text: string): ReadKernel | undefined {
    return this.#read.get(text);
  }

  /** The kernels of a name in C++; of machine code alone, that of this name there. */
  kernels(name: string): readonly KernelEntry[] {
    const known = this.#kernels.get(canonicalExpression(name));
    return known ?? (this.#isSource ? [] : [{ lowered: name }]);
  }

  /** The name of a variable in the machine code. */
  loweredVariable(name: string): string | undefined {
    const known = this.#variables.get(canonicalExpression(name));
    return known ?? (this.#isSource ? undefined : name);
  }
}
