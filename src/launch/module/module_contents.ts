/**
 * The contents of a module: its image, and the kernels and variables that its source declares.
 *
 * @module
 */

import type { CompiledImage } from "../compile/compiler.ts";
import type { StructTypes } from "../signature/struct_type.ts";
import { overloadIn, readableExpression } from "../source/kernels.ts";

/** A kernel as its source declares it. */
export interface DeclaredKernel {
  /**
   * Its name in C++, with namespaces and, for an instance, template arguments; for an overload the
   * cast that selects it.
   */
  readonly expression: string;
  /** Its signature as written; absent for instances of templates where it is not known. */
  readonly signature?: string;
}

/** The declarations of a source. */
export interface SourceDeclarations {
  /** The kernels that are compiled without an instance in the options. */
  readonly kernels: readonly DeclaredKernel[];
  /** The names of its variables in C++. */
  readonly variables: readonly string[];
  /**
   * The other kernels: templates, kernels under conditions that only the compiler evaluates, and
   * those that the options leave out.
   */
  readonly uncompiled: readonly {
    /** The name in C++. */
    readonly expression: string;
    /** The reason. */
    readonly reason: "template" | "condition" | "option";
    /** As the source has them, for its instances. */
    readonly signature: string;
    readonly templateParameters: readonly (readonly [name: string, byDefault: string])[];
  }[];
}

/** The parts of a module. */
export interface ModuleParts<Structs extends StructTypes> extends SourceDeclarations {
  /** The name in messages. */
  readonly name: string;
  /** The machine code. */
  readonly image: CompiledImage;
  /** Whether the machine code came from the cache. */
  readonly cached: boolean;
  /** The structs in signatures. */
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
  /** Its signature as written in the source, where that is known. */
  readonly signature?: string;
  /** For an overload, its signature with types as they are named outside namespaces. */
  readonly outside?: string;
}

/** The contents of a module, by name. */
export class ModuleContents<Structs extends StructTypes = StructTypes> {
  readonly parts: ModuleParts<Structs>;
  /** The names of the kernels; for overloads their signatures. */
  readonly kernelNames: readonly string[];
  /** The names of the variables. */
  readonly variableNames: readonly string[];
  readonly #kernels = new Map<string, KernelEntry[]>();
  readonly #variables = new Map<string, string>();
  readonly #isSource: boolean;

  /** @param isSource Whether all names are known: machine code alone may hold any. */
  constructor(parts: ModuleParts<Structs>, isSource: boolean) {
    this.parts = parts;
    this.#isSource = isSource;
    // The cached image may be of a request with another spelling of the same names.
    const names = new Map(
      [...parts.image.loweredNames].map(([name, lowered]) => [canonicalExpression(name), lowered]),
    );
    this.kernelNames = parts.kernels.map((kernel) => this.#addKernel(kernel, names));
    for (const variable of parts.variables) {
      const name = canonicalExpression(variable);
      this.#variables.set(name, names.get(`&${name}`) ?? variable);
    }
    this.variableNames = [...this.#variables.keys()];
  }

  /** Adds a kernel, and returns its public name: the name in C++, or for overloads the signature. */
  #addKernel(
    { expression, signature }: DeclaredKernel,
    names: ReadonlyMap<string, string>,
  ): string {
    const whole = canonicalExpression(expression);
    const overload = overloadIn(expression);
    const name = overload === undefined ? whole : canonicalExpression(overload.name);
    const entry: KernelEntry = {
      lowered: names.get(whole) ?? expression,
      ...(signature === undefined ? {} : { signature }),
      ...(overload === undefined ? {} : { outside: readableExpression(expression) }),
    };
    this.#kernels.set(name, [...this.#kernels.get(name) ?? [], entry]);
    return overload === undefined ? name : signature ?? readableExpression(expression);
  }

  /** The kernels with a name in C++; in machine code alone, the kernel with that lowered name. */
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
