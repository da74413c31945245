/**
 * The host code in a source, which is left out before anything is compiled for a device.
 *
 * The rule is CUDA's own: a function that is neither `__global__`, `__device__` nor `constexpr` is
 * for hosts, and so is a variable that is neither of the device nor constant. A class is for hosts
 * if it still holds what only hosts have when its host functions are gone.
 *
 * @module
 */

import { type Annotations, annotationsOf, isForDevice } from "./annotations.ts";
import { NONE } from "./brackets.ts";
import { type Declaration, membersOf } from "./declarations.ts";
import { declaredName } from "./declared_names.ts";
import { hostNameAt } from "./host_names.ts";
import type { SourceContext } from "./source_context.ts";

/** For whom functions and variables without annotation are. */
export type Unannotated = "host" | "device";

/** A declaration that was left out. */
export interface HostCode {
  /** What it declares; empty where that has no name. */
  readonly name: string;
  /** Its first line, from 1. */
  readonly line: number;
  /** Its first token. */
  readonly first: number;
  /** Its last token. */
  readonly last: number;
}

/** What is wrong about a source before any compiler has seen it. */
export interface SourceProblem {
  /** What is wrong. */
  readonly message: string;
  /** Where: a token. */
  readonly token: number;
}

/** The host code of a source. */
export interface HostCodeSearch {
  /** What is left out, in order. */
  readonly skipped: readonly HostCode[];
  /** What can neither be left out nor compiled. */
  readonly problems: readonly SourceProblem[];
}

/** Classes in each other deeper than this are not looked into. */
const DEEPEST_CLASS = 64;

/** Finds the host code among a source's declarations. */
export function findHostCode(context: SourceContext, unannotated: Unannotated): HostCodeSearch {
  return new HostCodeFinder(context, unannotated).run();
}

class HostCodeFinder {
  readonly #context: SourceContext;
  readonly #unannotated: Unannotated;
  readonly #skipped: HostCode[] = [];
  readonly #problems: SourceProblem[] = [];
  /** Classes and aliases that were left out. */
  readonly #hostTypes = new Set<string>();
  #usesStandard = false;

  constructor(context: SourceContext, unannotated: Unannotated) {
    this.#context = context;
    this.#unannotated = unannotated;
  }

  run(): HostCodeSearch {
    // What C++ names it has declared before, so that one pass finds all that depends on host types.
    for (const declaration of this.#context.list.declarations) {
      this.#noteUsing(declaration);
      this.#declaration(declaration);
    }
    this.#refuseLaunches();
    return { skipped: this.#skipped, problems: this.#problems };
  }

  #text(at: number): string {
    return this.#context.list.tokens[at]?.text ?? "";
  }

  #noteUsing({ kind, head }: Declaration): void {
    if (kind !== "alias" || this.#text(head + 1) !== "namespace") return;
    if (this.#text(head + 2) === "std" && this.#text(head + 3) === ";") this.#usesStandard = true;
  }

  #declaration(declaration: Declaration): void {
    if (declaration.kind === "class") this.#class(declaration, 0);
    else if (this.#isWhole(declaration) && this.#isHostCode(declaration)) this.#skip(declaration);
  }

  /** One that the source ends in the middle of is for the compiler to tell of. */
  #isWhole({ body, last }: Declaration): boolean {
    if (body !== NONE && this.#context.list.partners[body] === NONE) return false;
    return this.#text(last) === ";" || this.#text(last) === "}";
  }

  #isHostCode(declaration: Declaration): boolean {
    const annotations = annotationsOf(this.#context.list, declaration, this.#context.macros);
    if (isForDevice(annotations)) return false;
    switch (declaration.kind) {
      case "function":
        return this.#isHostFunction(declaration, annotations);
      case "variable":
        return this.#isHostVariable(declaration, annotations);
      default:
        return this.#hostName(declaration.first, declaration.last) !== undefined;
    }
  }

  #isHostFunction(declaration: Declaration, { words, doubtful }: Annotations): boolean {
    const { namespaces, parameters, first, last } = declaration;
    if (namespaces.length === 0 && this.#text(parameters - 1) === "main") return true;
    const mayBeForDevice = doubtful || words.has("constexpr") || words.has("consteval") ||
      this.#unannotated === "device";
    if (!mayBeForDevice) return true;
    return this.#launches(first, last) || this.#hostName(first, last) !== undefined;
  }

  #isHostVariable(declaration: Declaration, { words, doubtful }: Annotations): boolean {
    const { first, last } = declaration;
    const isConstant = words.has("const") || words.has("constexpr");
    if (!isConstant && !doubtful && this.#unannotated === "host" && !declaration.isInstantiation) {
      return true;
    }
    return this.#launches(first, last) || this.#hostName(first, last) !== undefined;
  }

  /** Leaves out a class's host functions, or all of it where host code still remains. */
  #class(declaration: Declaration, depth: number): void {
    const { list } = this.#context;
    const members = depth < DEEPEST_CLASS ? membersOf(list, declaration) : [];
    const before = this.#skipped.length;
    for (const member of members) {
      if (member.kind === "class") this.#class(member, depth + 1);
      else if (member.kind === "function" && this.#isHostMember(member)) this.#skip(member);
    }
    const remaining = this.#hostName(declaration.first, declaration.last, before);
    if (remaining === undefined) return;
    const forDevice = members.find((member) =>
      isForDevice(annotationsOf(list, member, this.#context.macros))
    );
    if (forDevice === undefined) {
      this.#skipped.length = before;
      this.#skip(declaration);
      return;
    }
    const name = declaredName(this.#context.list, declaration);
    this.#problems.push({
      message: `${name === "" ? "this class" : name} is for devices, as it has device functions: ` +
        `it cannot hold ${remaining.name}, which only hosts have`,
      token: remaining.token,
    });
  }

  #isHostMember(member: Declaration): boolean {
    if (!this.#isHostCode(member)) return false;
    // What is only declared may be defined for devices further down; what is defaulted is for both.
    return member.body !== NONE || this.#hostName(member.first, member.last) !== undefined;
  }

  #launches(first: number, last: number): boolean {
    for (let at = first; at <= last; at++) if (this.#text(at) === "<<<") return true;
    return false;
  }

  /**
   * The first name between two tokens that only hosts have.
   *
   * @param from Which of the parts left out to pass over, and those behind it.
   */
  #hostName(
    first: number,
    last: number,
    from: number = this.#skipped.length,
  ): { name: string; token: number } | undefined {
    let next = from;
    for (let at = first; at <= last; at++) {
      const hole = this.#skipped[next];
      if (hole !== undefined && at === hole.first) {
        at = hole.last;
        next++;
        continue;
      }
      const { tokens } = this.#context.list;
      const name = hostNameAt(tokens, at, this.#usesStandard) ?? this.#hostTypeAt(at);
      if (name !== undefined) return { name, token: at };
    }
    return undefined;
  }

  #hostTypeAt(at: number): string | undefined {
    const { kind, text } = this.#context.list.tokens[at]!;
    if (kind !== "word" || !this.#hostTypes.has(text)) return undefined;
    // Not a member that happens to have the same name.
    const isUse = !/^(?:\.|->|::)$/.test(this.#text(at - 1)) && !/^[;=[]$/.test(this.#text(at + 1));
    return isUse ? text : undefined;
  }

  #skip(declaration: Declaration): void {
    const { first, last, kind } = declaration;
    const { list, lines } = this.#context;
    const name = declaredName(this.#context.list, declaration);
    if (name !== "" && (kind === "class" || kind === "alias")) this.#hostTypes.add(name);
    this.#skipped.push({ name, line: lines.lineOf(list.tokens[first]!.start), first, last });
  }

  /** A launch that is left stands where no kernel can be launched from. */
  #refuseLaunches(): void {
    let next = 0;
    for (let at = 0; at < this.#context.list.tokens.length; at++) {
      const hole = this.#skipped[next];
      if (hole !== undefined && at === hole.first) {
        at = hole.last;
        next++;
      } else if (this.#text(at) === "<<<") {
        this.#problems.push({
          message: "a kernel cannot be launched here, in code for devices: launch it from " +
            "TypeScript with kernel.launch()",
          token: at,
        });
      }
    }
  }
}
