/**
 * What is known of a module: its image, and what its source says of kernels and variables.
 *
 * @module
 */

import type { CompiledImage } from "./compile/compiler.ts";
import type { StructTypes } from "./struct_type.ts";

/** A kernel as its source declares it. */
export interface DeclaredKernel {
  /** Its name in C++, with namespaces and, of an instance, template arguments. */
  readonly expression: string;
  /** Its signature as it is written; absent for instances of templates. */
  readonly signature?: string;
}

/** A kernel of the source of which its name alone did not have the compiler make machine code. */
export interface UncompiledKernel {
  /** Its name in C++. */
  readonly expression: string;
  /**
   * Why: only its instances are kernels, others have its name too, or the compiler alone knows
   * whether it sees it.
   */
  readonly reason: "template" | "overload" | "condition";
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
  return expression.trim().replaceAll(/\s+/g, " ").replaceAll(/ ?([^\w\s]) ?/g, "$1");
}

/** A kernel of a module. */
export interface KernelEntry {
  /** Its name in the machine code. */
  readonly lowered: string;
  /** Its signature as it is written in the source, where that is known. */
  readonly signature?: string;
}

/** The contents of a module, by names. */
export class ModuleContents<Structs extends StructTypes = StructTypes> {
  /** How messages name it. */
  readonly name: string;
  /** Its machine code. */
  readonly image: CompiledImage;
  /** Whether that came from the cache. */
  readonly cached: boolean;
  /** The names of its kernels. */
  readonly kernelNames: readonly string[];
  /** The names of its variables. */
  readonly variableNames: readonly string[];
  /** What the source declares besides its kernels. */
  readonly uncompiled: readonly UncompiledKernel[];
  /** The structs that signatures name. */
  readonly structs: Structs;
  readonly #kernels = new Map<string, KernelEntry>();
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
    for (const { expression, signature } of kernels) {
      const name = canonicalExpression(expression);
      const lowered = names.get(name) ?? expression;
      this.#kernels.set(name, signature === undefined ? { lowered } : { lowered, signature });
    }
    for (const variable of variables) {
      const name = canonicalExpression(variable);
      this.#variables.set(name, names.get(`&${name}`) ?? variable);
    }
    this.kernelNames = [...this.#kernels.keys()];
    this.variableNames = [...this.#variables.keys()];
  }

  /** A kernel by its name in C++; of machine code alone, by its name there. */
  kernel(name: string): KernelEntry | undefined {
    const known = this.#kernels.get(canonicalExpression(name));
    return known ?? (this.#isSource ? undefined : { lowered: name });
  }

  /** The name of a variable in the machine code. */
  loweredVariable(name: string): string | undefined {
    const known = this.#variables.get(canonicalExpression(name));
    return known ?? (this.#isSource ? undefined : name);
  }
}
