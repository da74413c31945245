/**
 * Rewrites inline PTX to C++ for the host device: each instruction becomes a statement over the
 * operands of its `asm`, by a table of common instructions. The others are refused by name.
 *
 * @module
 */

import {
  ASYNC_COPY,
  ATOMICS,
  CONSTRAINTS,
  INSTRUCTIONS,
  MATRIX_OPERANDS,
  MATRIX_PRODUCT,
  MEMORY,
  MOVE_MATRIX,
  OPERATORS,
  REGISTERS,
  ROUNDINGS,
  TYPES,
  WORDS,
} from "./ptx_instructions.ts";
import { isSignificant, textOfTokens, type Token, tokenize } from "../signature/tokens.ts";

const ASM = /^(?:asm|__asm|__asm__)$/;
const QUALIFIER = /^(?:volatile|__volatile__|__volatile|inline|goto)$/;

/** Thrown for PTX that the table does not have; the message is the reason. */
class Refusal extends Error {}

/** Thrown for an `asm` that CUDA does not accept either; the message is the reason. */
class InvalidAsm extends Error {}

const unsigned = (type: string) => TYPES[type.replace(/^[sb](?=\d)/, "u")]!;

/** The statements of one `asm`, for its operands' names. */
class Translation {
  readonly #operands: ReadonlyMap<string, string>;
  readonly #registers = new Map<string, string>();
  readonly #statements: string[] = [];

  /** @param operands Constraints by the operands' numbers. */
  constructor(operands: ReadonlyMap<string, string>) {
    this.#operands = operands;
  }

  run(template: string): string {
    const text = template.replaceAll("%%", "%").replaceAll(/\/\/.*|\/\*[^]*?\*\//g, " ");
    for (const piece of text.split(";")) {
      // Braces that open a statement are scopes; others hold the parts of a vector.
      const instruction = piece.replace(/^[\s{}]+/, "").trim();
      if (instruction !== "") this.#statements.push(this.#instruction(instruction));
    }
    return `[[maybe_unused]] bool gs_carry, gs_dropped; ${this.#statements.join(" ")}`;
  }

  #instruction(text: string): string {
    const declared = /^\.reg\s*\.(\w+)\s+(.+)$/s.exec(text);
    if (declared !== null) return this.#declaration(declared[1]!, declared[2]!);
    const [, not, guard, name, rest = ""] =
      /^(?:@(!?)([\w%$]+)\s+)?((?:[\w.]|::)+)(?![\w:])\s*(.*)$/s.exec(text) ??
        [];
    if (name === undefined) throw new Refusal(`PTX for ${JSON.stringify(text)}`);
    const operands = [...rest.matchAll(/\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*/g)].map(([one]) =>
      one.trim()
    );
    const statement = this.#statement(name, operands);
    return guard === undefined
      ? statement
      : `if (${not === "!" ? "!" : ""}${this.#value(guard, "pred", name)}) { ${statement} }`;
  }

  #declaration(type: string, names: string): string {
    if (TYPES[type] === undefined) throw new Refusal(`registers of type .${type}`);
    return names.split(",").flatMap((name) => {
      const [, stem, count] = /^\s*([\w%$]+?)\s*(?:<(\d+)>)?\s*$/.exec(name) ?? [];
      if (stem === undefined) throw new Refusal(`register ${name.trim()}`);
      const all = count === undefined
        ? [stem]
        : Array.from({ length: Math.min(Number(count), 256) }, (_, index) => `${stem}${index}`);
      return all.map((one) => {
        const place = `gs_r_${one.replaceAll(/\W/g, "_")}`;
        this.#registers.set(one, place);
        return `[[maybe_unused]] ${TYPES[type]} ${place} = 0;`;
      });
    }).join(" ");
  }

  #statement(name: string, operands: readonly string[]): string {
    const memory = MEMORY.exec(name);
    if (memory !== null) return this.#memory(name, memory[1]!, memory[3]!, operands);
    const atomic = ATOMICS.exec(name);
    if (atomic !== null) return this.#atomic(name, atomic, operands);
    const product = MATRIX_PRODUCT.exec(name);
    if (product !== null) return this.#matrixProduct(name, product, operands);
    const move = MOVE_MATRIX.exec(name);
    if (move !== null) return this.#moveMatrix(name, move, operands);
    if (ASYNC_COPY.test(name)) return this.#asyncCopy(name, operands);
    if (/^mov\.b(?:32|64)$/.test(name) && operands.some((one) => one.startsWith("{"))) {
      return this.#vector(name, operands);
    }
    const barrier = /^bar/.test(name) && !/warp/.test(name) && operands.join() !== "0";
    const [pattern, text] = INSTRUCTIONS.find(([pattern]) => pattern.test(name)) ?? [];
    if (text === undefined || barrier) {
      throw new Refusal(`PTX instruction ${name}${barrier ? ` ${operands.join(", ")}` : ""}`);
    }
    if (/^(?:addc|subc)/.test(name) && !this.#statements.some((one) => one.includes("gs_carry)"))) {
      throw new Refusal(`carry for ${name} from another asm`);
    }
    const groups = pattern!.exec(name)!.slice(1).filter((group) => group !== undefined);
    const type = name.split(".").findLast((part) => TYPES[part] !== undefined) ?? "b32";
    const value = text.replaceAll(
      /\$(?:(\d)(?::(\w+))?|([<TUDorfi]))/g,
      (_, index?: string, as?: string, word?: string) => {
        if (index === undefined) return this.#word(word!, type, groups);
        const operand = operands[Number(index)];
        if (operand === undefined) throw new Refusal(`${name} with ${operands.length} operands`);
        return this.#value(
          operand,
          as === "u" ? type.replace(/^[sb](?=\d)/, "u") : as ?? type,
          name,
        );
      },
    ).replaceAll("P::", "::gridstride::ptx::");
    if (value.startsWith("!") && text.startsWith("!") && !text.startsWith("!$")) {
      return `${value.slice(1)};`;
    }
    return this.#set(operands[0]!, `(${value})`, name);
  }

  /** What a word of the table stands for in an instruction with these groups. */
  #word(word: string, type: string, groups: readonly string[]): string {
    if (word === "T") return TYPES[type]!;
    if (word === "U") return unsigned(type);
    if (word === "D") return TYPES[groups[0]!]!;
    if (word === "<") return OPERATORS[groups[0]!]!;
    if (word === "r") return ROUNDINGS[groups.find((group) => group in ROUNDINGS)!]!;
    if (word === "o") return groups[0]!;
    // Of a conversion, the type of floats or of integers.
    const isFloat = (one: string) => one.startsWith("f");
    return WORDS[
      [type, ...groups].find((one) => one in WORDS && isFloat(one) === (word === "f"))!
    ]!;
  }

  #memory(name: string, operation: string, type: string, operands: readonly string[]): string {
    const isPolled = /\.(?:volatile|relaxed|acquire|release|mmio)/.test(name);
    const [list, place] = operation === "st" ? [operands[1], operands[0]] : operands;
    const parts = this.#parts(list ?? "");
    return parts.map((part, index) => {
      const address = `${this.#address(place ?? "", name)} + ${index} * sizeof(${TYPES[type]})`;
      if (operation === "st") {
        const value = this.#value(part, type, name);
        return `::gridstride::ptx::store<${TYPES[type]}>(${address}, ${value}, ${isPolled});`;
      }
      const value = `::gridstride::ptx::load<${TYPES[type]}>(${address}, ${isPolled})`;
      return this.#set(part, value, name);
    }).join(" ");
  }

  #atomic(name: string, [, kind, operation, type]: RegExpExecArray, operands: readonly string[]) {
    const [place, ...values] = kind === "atom" ? operands.slice(1) : operands;
    // The functions of CUDA have no atomics on bits alone, which are those on unsigned integers.
    const as = type!.replace(/^b|^s(?=64)/, "u");
    const function_ = `atomic${
      operation === "cas" ? "CAS" : operation!.replace(/^./, (letter) => letter.toUpperCase())
    }`;
    const given = values.map((value) => this.#value(value, as, name)).join(", ");
    const address = `reinterpret_cast<${TYPES[as]}*>(${this.#address(place ?? "", name)})`;
    const call = `${function_}(${address}, ${given})`;
    return kind === "atom" ? this.#set(operands[0]!, call, name) : `${call};`;
  }

  #matrixProduct(
    name: string,
    [, rows, depth, saturates, d, a, b, c]: RegExpExecArray,
    operands: readonly string[],
  ) {
    const { packed, shapes, results } = MATRIX_OPERANDS[a!]!;
    const has = (list: string, word: string) => list.split(" ").includes(word);
    const isKnown = has(shapes, `${rows}x${depth}`) && has(results, c!) && has(results, d!) &&
      MATRIX_OPERANDS[b!]!.packed === packed && MATRIX_OPERANDS[b!]!.results === results &&
      (a === b || packed === 4) && (saturates === undefined || d === "s32");
    if (!isKnown) throw new Refusal(`PTX instruction ${name}`);
    const chunks = Number(depth) / (4 * packed);
    const [height, words] = [Number(rows) / 8, Number(rows) / 4];
    const counts = [d === "f16" ? height : words, chunks * height, chunks];
    counts.push(c === "f16" ? height : words);
    const lists = counts.map((count, index) => {
      const parts = this.#parts(operands[index] ?? "");
      if (parts.length === count) return parts;
      throw new Refusal(`${name} with ${parts.length} registers in operand ${index}, not ${count}`);
    });
    const type = a === "f64" ? "b64" : "b32";
    const arrays = lists.map((parts, index) =>
      `unsigned long long gs_m${index}[] = {${
        parts.map((part) => index === 0 ? "0" : this.#value(part, type, name)).join(", ")
      }};`
    );
    const formats = [a, b, c, d].map((one) => `::gridstride::ptx::Format::${one}`).join(", ");
    const call = `::gridstride::ptx::mma<${rows}, ${depth}, ${formats}, ${
      saturates !== undefined
    }>(gs_m0, gs_m1, gs_m2, gs_m3);`;
    return `{ ${arrays.join(" ")} ${call} ${this.#results(lists[0]!, "gs_m0", type, name)} }`;
  }

  #moveMatrix(name: string, [, kind, count]: RegExpExecArray, operands: readonly string[]) {
    const isLoad = kind === "ld";
    const [list = "", place = ""] = isLoad ? operands : operands.toReversed();
    const parts = this.#parts(list);
    if (parts.length !== Number(count)) {
      throw new Refusal(`${name} with ${parts.length} registers, not ${count}`);
    }
    const address = this.#address(place, `${name}.shared`);
    const values = isLoad ? [] : parts.map((part) => this.#value(part, "b32", name));
    return `{ unsigned long long gs_m0[${count}] = {${values.join(", ")}}; ` +
      `::gridstride::ptx::${isLoad ? "load" : "store"}_matrix<${count}, ${
        name.includes(".trans")
      }>(${address}, gs_m0); ${isLoad ? this.#results(parts, "gs_m0", "b32", name) : ""} }`;
  }

  #results(parts: readonly string[], array: string, type: string, name: string): string {
    return parts.map((part, index) =>
      this.#set(part, `static_cast<${TYPES[type]}>(${array}[${index}])`, name)
    ).join(" ");
  }

  #asyncCopy(name: string, [to = "", from = "", bytes = "", given = bytes]: readonly string[]) {
    const isSize = name.startsWith("cp.async.cg") ? /^(?:16|%.*)$/ : /^(?:4|8|16|%.*)$/;
    if (!isSize.test(bytes)) throw new Refusal(`${name} of ${bytes || "no"} bytes`);
    const addresses = [this.#address(to, name), this.#address(from, "cp.async")].join(", ");
    const sizes = [bytes, given].map((size) => this.#value(size, "u32", name)).join(", ");
    return `::gridstride::ptx::copy_async(${addresses}, ${sizes});`;
  }

  /** `mov.b64 d, {a, b}` and `mov.b64 {a, b}, d`. */
  #vector(name: string, [to = "", from = ""]: readonly string[]): string {
    const bits = name.endsWith("64") ? 64 : 32;
    const [whole, half] = [`b${bits}`, `b${bits / 2}`];
    if (to.startsWith("{")) {
      return this.#parts(to).map((part, index) => {
        const value = `(${this.#value(from, whole, name)} >> ${index * bits / 2})`;
        return this.#set(part, `static_cast<${TYPES[half]}>${value}`, name);
      }).join(" ");
    }
    const parts = this.#parts(from).map((part, index) =>
      `static_cast<${TYPES[whole]}>(${this.#value(part, half, name)}) << ${index * bits / 2}`
    );
    return this.#set(to, `(${parts.join(" | ")})`, name);
  }

  #parts(list: string): string[] {
    return list.startsWith("{") ? list.slice(1, -1).split(",").map((part) => part.trim()) : [list];
  }

  /** The address in brackets. Only those of shared memory may have 32 bits. */
  #address(place: string, name: string): string {
    const [, base = "", offset = "0"] = /^\[\s*([%\w$]+?)\s*(?:\+\s*(-?\w+))?\s*\]$/.exec(place) ??
      [];
    const constraint = this.#operands.get(base.replace("%", ""));
    const isShared = name.includes(".shared");
    if (base === "" || (!isShared && constraint !== undefined && !constraint.includes("l"))) {
      throw new Refusal(`${name} with an address of 32 bits`);
    }
    const address = this.#value(base, "u64", name);
    return `${isShared ? `::gridstride::ptx::from_shared(${address})` : address} + ${
      this.#value(offset, "s64", name)
    }`;
  }

  #set(place: string, value: string, name: string): string {
    if (place === "_") return `(void)${value};`;
    const variable = this.#variable(place);
    if (variable === undefined) throw new Refusal(`result ${place} of ${name}`);
    return `::gridstride::ptx::write(${variable}, ${value});`;
  }

  #variable(text: string): string | undefined {
    const [, operand] = /^%(\d+)$/.exec(text) ?? [];
    if (operand !== undefined) return this.#operands.has(operand) ? `gs_${operand}` : undefined;
    return this.#registers.get(text);
  }

  /** An operand as a value of a type. */
  #value(text: string, type: string, name: string): string {
    const target = TYPES[type]!;
    const variable = this.#variable(text) ?? REGISTERS[text.replace(/^%/, "")];
    if (variable !== undefined) return `::gridstride::ptx::as<${target}>(${variable})`;
    const bits = /^0([fFdD])([0-9a-fA-F]+)$/.exec(text);
    if (bits !== null) {
      const width = bits[1]!.toLowerCase() === "f" ? "unsigned int" : "unsigned long long";
      return `::gridstride::ptx::as<${target}>(static_cast<${width}>(0x${bits[2]}))`;
    }
    if (/^-?(?:0x[\da-f]+|\d+)u?$/i.test(text)) return `static_cast<${target}>(${text})`;
    if (/^-?\d*\.\d+(?:e[+-]?\d+)?$/i.test(text)) return `static_cast<${target}>(${text})`;
    throw new Refusal(`operand ${text} of ${name}`);
  }
}

/** An operand of an `asm`: `"+r"(expression)`, maybe after a name in brackets. */
interface Operand {
  readonly constraint: string;
  readonly expression: string;
}

/** Splits the operands of a section. nvcc takes them also without a comma between. */
function operandsIn(tokens: readonly Token[]): Operand[] {
  const operands: Operand[] = [];
  for (let at = 0; at < tokens.length;) {
    // A name, which nothing may refer to.
    if (tokens[at]!.text === "[") at += 3;
    const constraint = tokens[at]?.text.slice(1, -1) ?? "";
    let depth = 0;
    const start = ++at;
    const isEnd = ({ kind, text }: Token) => depth === 0 && (text === "," || kind === "string");
    for (; at < tokens.length && !isEnd(tokens[at]!); at++) {
      depth += /^[([{]$/.test(tokens[at]!.text) ? 1 : /^[)\]}]$/.test(tokens[at]!.text) ? -1 : 0;
    }
    const expression = textOfTokens(tokens.slice(start, at));
    if (tokens[at]?.text === ",") at++;
    operands.push({ constraint, expression });
  }
  return operands;
}

function literal(token: Token): string {
  const [, delimiter, raw] = /^R"([^(]*)\(([^]*)\)\1"$/.exec(token.text) ?? [];
  if (delimiter !== undefined) return raw!;
  return token.text.slice(1, -1).replaceAll(
    /\\(\r?\n|.)/g,
    (_, escaped: string) =>
      /^[\r\n]/.test(escaped) ? "" : ({ n: "\n", t: "\t" })[escaped] ?? escaped,
  );
}

/** The C++ for the tokens between the parentheses of an `asm`. */
function translated(inside: readonly Token[]): string {
  const sections: Token[][] = [[]];
  let depth = 0;
  for (const token of inside) {
    depth += /^[([{]$/.test(token.text) ? 1 : /^[)\]}]$/.test(token.text) ? -1 : 0;
    if (depth === 0 && /^::?$/.test(token.text)) {
      for (const _ of token.text) sections.push([]);
    } else sections.at(-1)!.push(token);
  }
  const [strings = [], outputTokens = [], inputTokens = [], clobbers = []] = sections;
  if (!strings.every(({ kind }) => kind === "string")) throw new Refusal("PTX made by macros");
  const template = strings.map(literal).join("");
  if (template.includes("%[")) {
    throw new InvalidAsm("CUDA's asm refers to its operands by number only, as in %0");
  }
  const clobber = clobbers.find(({ kind, text }) => kind === "string" && text !== '"memory"');
  if (clobber !== undefined) {
    throw new InvalidAsm(`CUDA's asm can only clobber "memory", not ${clobber.text}`);
  }
  const outputs = operandsIn(outputTokens);
  const inputs = operandsIn(inputTokens);
  const all = [...outputs, ...inputs].map((operand, index) => ({ ...operand, index }));
  if (template.trim() === "") return '__asm__ __volatile__("" ::: "memory");';
  const constraints = new Map(all.map(({ index, constraint }) => [String(index), constraint]));
  const body = new Translation(constraints).run(template);
  const read = all.map(({ constraint, expression, index }) => {
    const type = CONSTRAINTS[constraint.replace(/[=+&]/g, "")];
    if (type === undefined) throw new Refusal(`constraint "${constraint}" of PTX`);
    const isOutput = index < outputs.length;
    const given = `${isOutput ? "gs_o" : "gs_i"}${index}`;
    const value = constraint.startsWith("=") ? "0" : `::gridstride::ptx::read<${type}>(${given})`;
    // An immediate number has no size.
    const check = constraint === "n"
      ? ""
      : `static_assert(::gridstride::ptx::is_operand<${type}, ` +
        `decltype(${given})>(), "the type of an asm operand must fit its constraint"); `;
    return `${isOutput ? "" : "const "}auto& ${given} = ${expression}; ${check}` +
      `[[maybe_unused]] ${type} gs_${index} = ${value};`;
  });
  const written = outputs.map((_, index) => `::gridstride::ptx::write(gs_o${index}, gs_${index});`);
  return `{ ${[...read, body, ...written].join(" ")} }`;
}

/** Rewrites the inline PTX of a text. Every line stays in its place. */
export function rewriteInlinePtx(source: string, lineBreak = "\n"): string {
  if (!/\b(?:asm|__asm|__asm__)\b/.test(source)) return source;
  const all = tokenize(source);
  const tokens = all.filter((token) => isSignificant(token));
  const replacements: { start: number; end: number; text: string }[] = [];
  for (const { kind, text, start, end } of all) {
    // The body of a macro.
    if (kind !== "directive" || !/^#\s*define\b/.test(text)) continue;
    replacements.push({ start, end, text: `#${rewriteInlinePtx(text.slice(1), "\\\n")}` });
  }
  for (let at = 0; at < tokens.length; at++) {
    if (tokens[at]!.kind !== "word" || !ASM.test(tokens[at]!.text)) continue;
    const first = at++;
    while (QUALIFIER.test(tokens[at]?.text ?? "")) at++;
    if (tokens[at]?.text !== "(") continue;
    const open = at++;
    for (let depth = 1; at < tokens.length; at++) {
      depth += tokens[at]!.text === "(" ? 1 : tokens[at]!.text === ")" ? -1 : 0;
      if (depth === 0) break;
    }
    if (at === tokens.length) break;
    const close = at;
    const last = tokens[close + 1]?.text === ";" ? close + 1 : close;
    const [{ start }, { end }] = [tokens[first]!, tokens[last]!];
    const lines = lineBreak.repeat(source.slice(start, end).split("\n").length - 1);
    replacements.push({ start, end, text: statement(tokens.slice(open + 1, close)) + lines });
    at = last;
  }
  let result = "";
  let at = 0;
  for (const { start, end, text } of replacements.toSorted((a, b) => a.start - b.start)) {
    result += source.slice(at, start) + text;
    at = end;
  }
  return result + source.slice(at);
}

function statement(inside: readonly Token[]): string {
  try {
    return translated(inside);
  } catch (error) {
    if (error instanceof InvalidAsm) return `GS_HOST_NO_PTX(${JSON.stringify(error.message)})`;
    if (!(error instanceof Refusal)) throw error;
    const reason = `the host device has no ${error.message}: leave it to ` +
      "#if !defined(__CUDASIM__), or use the function of CUDA for it";
    return `GS_HOST_NO_PTX(${JSON.stringify(reason)})`;
  }
}
