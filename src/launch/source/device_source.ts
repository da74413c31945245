/**
 * A kernel source as devices need it: its kernels and variables, and the text without host code.
 *
 * The rule is CUDA's own: a function that is neither `__global__`, `__device__` nor `constexpr` is
 * for hosts, and so is a variable that is neither of the device nor constant. A class is for hosts
 * if it names what only hosts have outside of its host functions.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { CompileError, type Diagnostic } from "../compile/compile_error.ts";
import { NONE } from "../signature/tokens.ts";
import {
  annotationsOf,
  type Declaration,
  declaredName,
  membersOf,
  readDeclarations,
} from "./declarations.ts";
import { hostNameAt, isHostHeader, isPyTorchHeader, PYTORCH_NAME } from "./host_names.ts";
import {
  type KernelDeclaration,
  kernelsOf,
  type VariableDeclaration,
  variablesOf,
} from "./kernels.ts";
import { KernelUses } from "./kernel_uses.ts";
import { type ExpandedTokens, MacroExpander } from "./macro_calls.ts";
import { readDirective } from "./preprocessor.ts";
import { readSource, type SourceContext, type SourceSurroundings } from "./source_context.ts";

export interface SourceOptions extends SourceSurroundings {
  readonly name: string;
  /** The kernels to leave: the text then has neither the others nor functions that only they need. */
  readonly chosen?: readonly string[] | undefined;
}

export interface HostCode {
  /** The functions, variables and types; of a macro's call maybe several. */
  readonly names: readonly string[];
  /** The file in which it stands. */
  readonly file: string;
  readonly line: number;
  readonly first: number;
  readonly last: number;
  /** Code for devices in its place: the rest of a macro that also writes host code. */
  readonly replacement?: string;
}

export interface DeviceSource {
  /** The kernels that it defines or instantiates, in order. */
  readonly kernels: readonly KernelDeclaration[];
  /** The `__device__`, `__constant__` and `__managed__` variables that it certainly defines. */
  readonly variables: readonly VariableDeclaration[];
  readonly hostCode: readonly HostCode[];
  /** Headers of PyTorch, which are left out as host headers are. */
  readonly pyTorchHeaders: readonly string[];
  /** The source, host code replaced by spaces: every line and column stays in place. */
  readonly text: string;
  /** The headers of the program likewise, by name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly uses: KernelUses;
}

const FLOAT16 = /\b(?:(?:__)?half2?|(?:__)?nv_bfloat16\d*)\b/;

/** Reads a source and the headers of the program that it includes. */
export function readDeviceSource(source: string, options: SourceOptions): DeviceSource {
  const { name, chosen, headers = new Map<string, string>() } = options;
  const context = readSource(source, options);
  // The names of host types are known to the texts behind.
  const expander = new MacroExpander(context.macros);
  const known: HostNames = { types: new Set(), usesStandard: false, expander };
  const contexts = [...context.headers, context];
  const uses = new KernelUses(context);
  const usesFloat16 = contexts.some(({ text }) => FLOAT16.test(text));
  const pyTorchHeaders = contexts.flatMap((text) => hostIncludes(text, headers))
    .map(({ header }) => header).filter(isPyTorchHeader);
  const texts = contexts.map((text) => {
    const finder = new HostCodeFinder(text, text.name || name, known);
    finder.run();
    if (finder.problems.length > 0) {
      const advice = pyTorchAdvice(pyTorchHeaders, finder.problems);
      throw new CompileError(name, "Gridstride", finder.problems, "", advice);
    }
    const removed = chosen === undefined ? [] : uses.unneeded(text, chosen);
    return {
      name: text.name,
      hostCode: finder.skipped,
      text: blanked(text, [...finder.skipped, ...removed], headers, usesFloat16),
    };
  });
  return {
    kernels: kernelsOf(context),
    variables: variablesOf(context),
    uses,
    hostCode: texts.flatMap(({ hostCode }) => hostCode),
    pyTorchHeaders,
    text: texts.at(-1)!.text,
    headers: new Map([
      ...headers,
      ...texts.slice(0, -1).map(({ name, text }) => [name, text] as const),
    ]),
  };
}

/** The includes of headers that a text for devices does without. */
function hostIncludes({ includes, name }: SourceContext, headers: ReadonlyMap<string, string>) {
  return includes.filter(({ header }) =>
    isHostHeader(header) && !headers.has(header) && !headers.has(join(dirname(name), header))
  );
}

function blanked(
  context: SourceContext,
  skipped: readonly Pick<HostCode, "first" | "last" | "replacement">[],
  headers: ReadonlyMap<string, string>,
  usesFloat16: boolean,
): string {
  const { text, list: { tokens }, allTokens } = context;
  // The characters to replace by spaces.
  const isBlank = new Uint8Array(text.length);
  for (const { first, last } of skipped) isBlank.fill(1, tokens[first]!.start, tokens[last]!.end);
  // Other directives stay: an `#if` may begin before host code and end in it.
  for (const { kind, text, start, end } of allTokens) {
    const isKept = kind === "directive" && !/^(?:pragma|include)$/.test(readDirective(text).name);
    if (isKept) isBlank.fill(0, start, end);
  }
  const host = hostIncludes(context, headers);
  for (const { token: { start, end } } of host) isBlank.fill(1, start, end);
  const left = text.replaceAll(/[^\r\n]/g, (character, at) => isBlank[at] ? " " : character);
  const inserted = skipped.flatMap(({ first, replacement = "" }) =>
    replacement === "" ? [] : [{ at: tokens[first]!.start, end: tokens[first]!.start, replacement }]
  );
  for (const { header, token: { start, end } } of host) {
    // These include the types. Nothing but a comment can stand behind them in their line.
    const includesFloat16 = usesFloat16 &&
      (isPyTorchHeader(header) || /^cublas\w*\.h$/.test(header));
    if (includesFloat16) inserted.push({ at: start, end, replacement: "#include <cuda_bf16.h>" });
  }
  return inserted.toSorted((a, b) => b.at - a.at).reduce(
    (result, { at, end, replacement }) => result.slice(0, at) + replacement + result.slice(end),
    left,
  );
}

/** Adds to messages of a compiler that name host code that it was left out. */
export function explainHostCode(
  error: CompileError,
  { hostCode, pyTorchHeaders }: Pick<DeviceSource, "hostCode" | "pyTorchHeaders">,
): CompileError {
  const byName = new Map(
    hostCode.flatMap((skipped) =>
      skipped.names.map((name) => [name, { ...skipped, name }] as const)
    ),
  );
  const diagnostics = error.diagnostics.map((diagnostic): Diagnostic => {
    const skipped = [...diagnostic.message.matchAll(/['"‘“]([\w$]+)['"’”]/g)]
      .map(([, name]) => byName.get(name!)).find((found) => found !== undefined);
    if (diagnostic.severity !== "error" || skipped === undefined) return diagnostic;
    const place = `${skipped.file === error.source ? "" : `${skipped.file}, `}line ${skipped.line}`;
    const message = `${diagnostic.message} (${skipped.name}, ${place}, is host code, ` +
      "which is left out: a function for devices is __device__)";
    return { ...diagnostic, message };
  });
  const { source, compiler, log, remark } = error;
  const remarks = [remark, pyTorchAdvice(pyTorchHeaders, diagnostics)].filter((text) =>
    text !== ""
  );
  return new CompileError(source, compiler, diagnostics, log, remarks.join("\n"));
}

/** Advice about errors that names of PyTorch cause; empty without such errors. */
function pyTorchAdvice(
  [header]: readonly string[],
  diagnostics: readonly Diagnostic[],
): string {
  const isCause = ({ severity, text = "", message }: Diagnostic) =>
    severity === "error" && (PYTORCH_NAME.test(text) || PYTORCH_NAME.test(message));
  if (header === undefined || !diagnostics.some(isCause)) return "";
  return `Headers of PyTorch such as ${header} are left out, as those of other host libraries ` +
    "are: give kernels pointers and types of CUDA, or define PyTorch's names in a header of the " +
    `option headers, { ${JSON.stringify(header)}: "…" }`;
}

// ---- Host code -----------------------------------------------------------------------------------

const MAX_CLASSES = 64;

/** The host's names that texts so far have introduced. */
interface HostNames {
  readonly types: Set<string>;
  usesStandard: boolean;
  readonly expander: MacroExpander;
}

class HostCodeFinder {
  readonly skipped: HostCode[] = [];
  /** Host code that can neither be left out nor compiled. */
  readonly problems: Diagnostic[] = [];
  readonly #context: SourceContext;
  readonly #name: string;
  readonly #known: HostNames;

  constructor(context: SourceContext, name: string, known: HostNames) {
    this.#context = context;
    this.#name = name;
    this.#known = known;
  }

  run(): void {
    const { declarations, tokens } = this.#context.list;
    // C++ declares names before their use: one pass finds all that depends on host types.
    for (const declaration of declarations) {
      const words = tokens.slice(declaration.head, declaration.head + 4);
      this.#known.usesStandard ||= words.map(({ text }) =>
        text
      ).join(" ") === "using namespace std ;";
      const isExtern = words[0]?.text === "extern" && words[1]?.kind === "string";
      const call = declaration.head + (isExtern ? 2 : 0);
      if (this.#known.expander.isCall(tokens, call)) this.#macroCall(declaration);
      else if (declaration.kind === "class") this.#class(declaration, 0);
      else if (this.#isWhole(declaration) && this.#isHostCode(declaration)) this.#skip(declaration);
    }
    // A launch that is left stands where no kernel can be launched.
    this.#find(0, tokens.length - 1, 0, (at) => {
      if (this.#text(at) !== "<<<") return undefined;
      const message = "a kernel cannot be launched here, in code for devices: launch it from " +
        "TypeScript with kernel.launch()";
      this.#refuse(at, message);
      return undefined;
    });
  }

  /** Leaves out the host code that a macro writes. */
  #macroCall({ first, last, namespaces }: Declaration): void {
    const context = this.#context;
    const { tokens } = context.list;
    const expanded = this.#known.expander.expand(tokens.slice(first, last + 1));
    if (expanded === undefined) return;
    const list = readDeclarations(expanded.tokens, namespaces);
    const finder = new HostCodeFinder({ ...context, list }, this.#name, this.#known);
    finder.run();
    this.problems.push(...finder.problems);
    if (finder.skipped.length === 0) return;
    const [{ file, line }] = finder.skipped as [HostCode];
    const names = finder.skipped.flatMap(({ names }) => names);
    const replacement = remainder(expanded, finder.skipped);
    this.skipped.push({ names, file, line, first, last, replacement });
  }

  #refuse(at: number, message: string): void {
    const { list, lines } = this.#context;
    const { start } = list.tokens[at]!;
    const line = lines.lineOf(start);
    const [file, column, text] = [this.#name, lines.columnOf(start), lines.textOf(line)!];
    this.problems.push({ severity: "error", message, file, line, column, text });
  }

  #text(at: number): string {
    return this.#context.list.tokens[at]?.text ?? "";
  }

  /** Whether the source does not end inside: the compiler reports that. */
  #isWhole({ body, last }: Declaration): boolean {
    if (body !== NONE && this.#context.list.partners[body] === NONE) return false;
    return this.#text(last) === ";" || this.#text(last) === "}";
  }

  #isHostCode(declaration: Declaration): boolean {
    const { list, macros } = this.#context;
    const { kind, namespaces, parameters, first, last, isInstantiation } = declaration;
    const { words, isForDevice, isDoubtful } = annotationsOf(list, declaration, macros);
    if (isForDevice) return false;
    const isCommon = isDoubtful || words.has("constexpr");
    if (kind === "function") {
      if (namespaces.length === 0 && this.#text(parameters - 1) === "main") return true;
      if (!isCommon && !words.has("consteval")) return true;
    } else if (kind === "variable") {
      const isReference = words.has("texture") || words.has("surface");
      if (!isCommon && !words.has("const") && !isInstantiation && !isReference) return true;
    } else return this.#hostName(first, last) !== undefined;
    const launches = this.#find(
      first,
      last,
      this.skipped.length,
      (at) => this.#text(at) === "<<<" ? "<<<" : undefined,
    );
    return launches !== undefined || this.#hostName(first, last) !== undefined;
  }

  /** Leaves out a class's host functions, or the whole class if host code remains. */
  #class(declaration: Declaration, depth: number): void {
    const { list, macros } = this.#context;
    const members = depth < MAX_CLASSES ? membersOf(list, declaration) : [];
    const before = this.skipped.length;
    for (const member of members) {
      if (member.kind === "class") this.#class(member, depth + 1);
      else if (member.kind === "function" && this.#isHostCode(member)) {
        // A mere declaration may be defined for devices further down; a defaulted one is for both.
        const isHost = member.body !== NONE ||
          this.#hostName(member.first, member.last) !== undefined;
        if (isHost) this.#skip(member);
      }
    }
    const remaining = this.#hostName(declaration.first, declaration.last, before);
    if (remaining === undefined) return;
    if (!members.some((member) => annotationsOf(list, member, macros).isForDevice)) {
      this.skipped.length = before;
      this.#skip(declaration);
      return;
    }
    const name = declaredName(list, declaration) || "this class";
    const message = `${name} is for devices, as it has device functions: it cannot hold ` +
      `${remaining.found}, which only hosts have`;
    this.#refuse(remaining.at, message);
  }

  #hostName(first: number, last: number, from: number = this.skipped.length) {
    return this.#find(first, last, from, (at) => {
      const { tokens } = this.#context.list;
      const name = hostNameAt(tokens, at, this.#known.usesStandard);
      if (name !== undefined || !this.#known.types.has(this.#text(at))) return name;
      // Members may have the same name.
      const isUse = !/^(?:\.|->|::)$/.test(this.#text(at - 1)) &&
        !/^[;=[]$/.test(this.#text(at + 1));
      return isUse ? this.#text(at) : undefined;
    });
  }

  /** The first token between two with a finding; `from` is the first of the holes to pass over. */
  #find(
    first: number,
    last: number,
    from: number,
    find: (at: number) => string | undefined,
  ): { readonly found: string; readonly at: number } | undefined {
    let next = from;
    for (let at = first; at <= last; at++) {
      const hole = this.skipped[next];
      if (hole !== undefined && at === hole.first) {
        at = hole.last;
        next++;
        continue;
      }
      const found = find(at);
      if (found !== undefined) return { found, at };
    }
    return undefined;
  }

  #skip(declaration: Declaration): void {
    const { first, last, kind } = declaration;
    const { list, lines } = this.#context;
    const name = declaredName(list, declaration);
    if (name !== "" && (kind === "class" || kind === "alias")) this.#known.types.add(name);
    const line = lines.lineOf(list.tokens[first]!.start);
    const names = name === "" ? [] : [name];
    this.skipped.push({ names, file: this.#name, line, first, last });
  }
}

/** The text of expanded tokens without host code; empty if only semicolons are left. */
function remainder({ tokens, textOf }: ExpandedTokens, skipped: readonly HostCode[]): string {
  const holes = [...skipped, { first: tokens.length, last: tokens.length }];
  const texts = holes.map(({ first }, index) =>
    textOf((holes[index - 1]?.last ?? -1) + 1, first - 1)
  );
  return texts.join(" ").replace(/^[\s;]+$/, "").trim();
}
