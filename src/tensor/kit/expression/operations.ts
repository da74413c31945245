/**
 * The elementwise operations: the types they take and give, and their C++.
 *
 * @module
 */

import { cannot } from "../../../ffi/arguments.ts";
import type { DType } from "../../../memory/dtype.ts";
import { bytesPerElement, cTypeOf, isFloatDType, isIntegerDType } from "../../../memory/dtype.ts";
import { floatResult } from "../promotion.ts";

/** The element types that an operation takes. */
export type Domain = "any" | "numeric" | "floating" | "integer" | "integer or bool";

/** The element type of results: the promoted one, the type of functions like `exp()`, or `bool`. */
export type ResultRule = "promoted" | "float" | "bool";

/** One elementwise operation. */
export interface ElementwiseOperation {
  readonly domain: Domain;
  readonly result: ResultRule;
  /** The C++ of the result for operands of one type. */
  readonly code: (operands: readonly string[], dtype: DType) => string;
}

/** Whether an element type is computed as `double`. */
const isDouble = (dtype: DType): boolean => dtype === "float64";

/** The C++ type of values of an element type. */
export function valueType(dtype: DType): string {
  return isFloatDType(dtype) ? (isDouble(dtype) ? "double" : "float") : cTypeOf(dtype);
}

type Code = ElementwiseOperation["code"];

/** Functions of one operand of which loops have vector variants, as `element.cuh` declares them. */
const VECTOR_FUNCTIONS = "acos acosh asin asinh atan atanh cos cosh erf exp exp2 expm1 log log10 " +
  "log1p log2 sin sinh tan tanh";
const VECTOR_CALL = new RegExp(`\\bgs_(${VECTOR_FUNCTIONS.replaceAll(" ", "|")})f?\\(`, "g");

/** Functions of `float` that `element.cuh` computes itself, in half the time. */
const OWN_FUNCTIONS: Readonly<Record<string, string>> = {
  exp: "exponential",
  tanh: "hyperbolic_tangent",
};

/** The name of a function of `<math.h>`, or of the one that stands for it. */
function functionName(name: string, dtype: DType): string {
  if (!isDouble(dtype) && name in OWN_FUNCTIONS) return OWN_FUNCTIONS[name]!;
  const isVector = VECTOR_FUNCTIONS.split(" ").includes(name);
  return `${isVector ? "gs_" : ""}${name}${isDouble(dtype) ? "" : "f"}`;
}

/** The declarations of the vector functions that a text calls. */
export function vectorDeclarations(text: string): string[] {
  const names = new Set([...text.matchAll(VECTOR_CALL)].map(([, name]) => name));
  return [...names].sort().map((name) => {
    const { length } = `gs_${name}`;
    return `GS_VECTOR_FUNCTION(${name}, ${length}, ${length + 1})`;
  });
}

/** A function of `<math.h>` by its name for `double`. */
const math = (name: string): Code => (operands, dtype) =>
  `${functionName(name, dtype)}(${operands.join(", ")})`;

/** A number as a literal of a floating type. */
function numberText(value: number, dtype: DType): string {
  const text = String(value);
  return `${/[.e]/.test(text) ? text : `${text}.0`}${isDouble(dtype) ? "" : "f"}`;
}

/** C++ in which `x`, `y` and `z` stand for operands, `0`.. for floating literals in braces. */
const formula = (text: string): Code => (operands, dtype) =>
  text.replace(/\b[xyz]\b/g, (name) => operands["xyz".indexOf(name)]!)
    .replace(/\{([-\d.e]+)\}/g, (_, value) => numberText(Number(value), dtype))
    .replace(/#(\w+)/g, (_, name) => functionName(name, dtype));

/** Wrapping arithmetic of integers, plain arithmetic of floats. */
const arithmetic = (operator: string): Code => ([x, y], dtype) => {
  if (!isIntegerDType(dtype)) return `${x} ${operator} ${y}`;
  const wide = /64$/.test(dtype) ? "unsigned long long" : "unsigned int";
  return `static_cast<${wide}>(${x}) ${operator} static_cast<${wide}>(${y})`;
};

/** One formula for floats, another for integers. */
const byKind = (floats: Code, integers: Code): Code => (operands, dtype) =>
  isFloatDType(dtype) ? floats(operands, dtype) : integers(operands, dtype);

const operation = (
  domain: Domain,
  result: ResultRule,
  code: Code,
): ElementwiseOperation => ({ domain, result, code });

const numeric = (code: Code): ElementwiseOperation => operation("numeric", "promoted", code);
const float = (code: Code): ElementwiseOperation => operation("numeric", "float", code);
const comparison = (text: string): ElementwiseOperation => operation("any", "bool", formula(text));
const bits = (text: string): ElementwiseOperation =>
  operation("integer or bool", "promoted", formula(text));

const identity: Code = formula("x");
/** What rounding does to integers: nothing. */
const rounding = (name: string): ElementwiseOperation => numeric(byKind(math(name), identity));

/** The name of an elementwise operation. */
export type OperationName =
  | "add"
  | "subtract"
  | "multiply"
  | "divide"
  | "floorDivide"
  | "remainder"
  | "pow"
  | "maximum"
  | "minimum"
  | "atan2"
  | "hypot"
  | "copysign"
  | "nextafter"
  | "logaddexp"
  | "negative"
  | "positive"
  | "abs"
  | "sign"
  | "square"
  | "reciprocal"
  | "sqrt"
  | "rsqrt"
  | "exp"
  | "exp2"
  | "expm1"
  | "log"
  | "log2"
  | "log10"
  | "log1p"
  | "sin"
  | "cos"
  | "tan"
  | "asin"
  | "acos"
  | "atan"
  | "sinh"
  | "cosh"
  | "tanh"
  | "asinh"
  | "acosh"
  | "atanh"
  | "erf"
  | "floor"
  | "ceil"
  | "trunc"
  | "round"
  | "roundTf32"
  | "relu"
  | "gelu"
  | "geluTanh"
  | "silu"
  | "sigmoid"
  | "softplus"
  | "equal"
  | "notEqual"
  | "less"
  | "lessEqual"
  | "greater"
  | "greaterEqual"
  | "logicalAnd"
  | "logicalOr"
  | "logicalXor"
  | "logicalNot"
  | "isnan"
  | "isfinite"
  | "isinf"
  | "signbit"
  | "bitwiseAnd"
  | "bitwiseOr"
  | "bitwiseXor"
  | "bitwiseInvert"
  | "bitwiseLeftShift"
  | "bitwiseRightShift";

/** All elementwise operations by name. */
export const OPERATIONS: Readonly<Record<OperationName, ElementwiseOperation>> = {
  add: numeric(arithmetic("+")),
  subtract: numeric(arithmetic("-")),
  multiply: numeric(arithmetic("*")),
  divide: float(formula("x / y")),
  floorDivide: numeric(formula("floor_divide(x, y)")),
  remainder: numeric(formula("floor_remainder(x, y)")),
  pow: numeric(byKind(math("pow"), formula("integer_power(x, y)"))),
  maximum: operation("any", "promoted", formula("x > y || x != x ? x : y")),
  minimum: operation("any", "promoted", formula("x < y || x != x ? x : y")),
  atan2: float(math("atan2")),
  hypot: float(math("hypot")),
  copysign: float(math("copysign")),
  nextafter: float((operands, dtype) =>
    bytesPerElement(dtype) === 2
      ? `next_after<${cTypeOf(dtype)}>(${operands})`
      : math("nextafter")(operands, dtype)
  ),
  logaddexp: float(
    formula("x == y ? x + {0.6931471805599453} : #fmax(x, y) + #log1p(#exp(-#fabs(x - y)))"),
  ),

  negative: numeric(byKind(formula("-x"), ([x], dtype) => arithmetic("-")(["0", x!], dtype))),
  positive: numeric(identity),
  abs: numeric(
    byKind(
      math("fabs"),
      ([x], dtype) =>
        dtype.startsWith("u") ? x! : `${x} < 0 ? ${arithmetic("-")(["0", x!], dtype)} : ${x}`,
    ),
  ),
  sign: numeric(byKind(formula("x > 0 ? {1} : x < 0 ? {-1} : x"), formula("(x > 0) - (x < 0)"))),
  square: numeric(([x], dtype) => arithmetic("*")([x!, x!], dtype)),
  reciprocal: float(formula("{1} / x")),
  sqrt: float(math("sqrt")),
  rsqrt: float(formula("{1} / #sqrt(x)")),
  exp: float(math("exp")),
  exp2: float(math("exp2")),
  expm1: float(math("expm1")),
  log: float(math("log")),
  log2: float(math("log2")),
  log10: float(math("log10")),
  log1p: float(math("log1p")),
  sin: float(math("sin")),
  cos: float(math("cos")),
  tan: float(math("tan")),
  asin: float(math("asin")),
  acos: float(math("acos")),
  atan: float(math("atan")),
  sinh: float(math("sinh")),
  cosh: float(math("cosh")),
  tanh: float(math("tanh")),
  asinh: float(math("asinh")),
  acosh: float(math("acosh")),
  atanh: float(math("atanh")),
  erf: float(math("erf")),
  floor: rounding("floor"),
  ceil: rounding("ceil"),
  trunc: rounding("trunc"),
  round: rounding("rint"),
  roundTf32: operation("floating", "promoted", formula("round_tf32(x)")),

  relu: numeric(formula("x < 0 ? 0 : x")),
  gelu: float(formula("{0.5} * x * ({1} + #erf(x * {0.7071067811865476}))")),
  geluTanh: float(
    formula("{0.5} * x * ({1} + #tanh({0.7978845608028654} * (x + {0.044715} * x * x * x)))"),
  ),
  silu: float(formula("x / ({1} + #exp(-x))")),
  sigmoid: float(formula("{1} / ({1} + #exp(-x))")),
  softplus: float(formula("(x > 0 ? x : {0}) + #log1p(#exp(-#fabs(x)))")),

  equal: comparison("x == y"),
  notEqual: comparison("x != y"),
  less: comparison("x < y"),
  lessEqual: comparison("x <= y"),
  greater: comparison("x > y"),
  greaterEqual: comparison("x >= y"),
  logicalAnd: comparison("(x != 0) && (y != 0)"),
  logicalOr: comparison("(x != 0) || (y != 0)"),
  logicalXor: comparison("(x != 0) != (y != 0)"),
  logicalNot: comparison("x == 0"),
  isnan: operation("numeric", "bool", formula("x != x")),
  isfinite: operation("numeric", "bool", formula("x - x == 0")),
  isinf: operation("numeric", "bool", formula("x == x && x - x != 0")),
  signbit: operation("numeric", "bool", byKind(formula("#copysign({1}, x) < 0"), formula("x < 0"))),

  bitwiseAnd: bits("x & y"),
  bitwiseOr: bits("x | y"),
  bitwiseXor: bits("x ^ y"),
  bitwiseInvert: operation(
    "integer or bool",
    "promoted",
    ([x], dtype) => dtype === "bool" ? `!${x}` : `~${x}`,
  ),
  bitwiseLeftShift: operation("integer", "promoted", formula("shift_left(x, y)")),
  bitwiseRightShift: operation("integer", "promoted", formula("shift_right(x, y)")),
};

const DOMAIN_TEXT: Readonly<Record<Domain, string>> = {
  any: "of any element type but the 8-bit floats",
  numeric: "numbers, not bool",
  floating: "floating point",
  integer: "integers",
  "integer or bool": "integers or bool",
};

/** The reason why an operation does not take an element type; `undefined` if it does. */
export function domainProblem(domain: Domain, dtype: DType): string | undefined {
  const isFit = !dtype.startsWith("float8") && (
    domain === "any" || (domain === "numeric" && dtype !== "bool") ||
    (domain === "floating" && isFloatDType(dtype)) ||
    (domain === "integer" && isIntegerDType(dtype)) ||
    (domain === "integer or bool" && !isFloatDType(dtype))
  );
  return isFit ? undefined : DOMAIN_TEXT[domain];
}

/**
 * The type in which an operation computes operands of a common type, and the type of its result.
 *
 * @throws {TypeError} If the operation does not take such operands.
 */
export function operationTypes(
  name: OperationName,
  common: DType,
): { readonly computed: DType; readonly result: DType } {
  const { domain, result } = OPERATIONS[name];
  const problem = domainProblem(domain, common);
  if (problem !== undefined) {
    throw new TypeError(`${cannot(name)} as the operands must be ${problem}: they are ${common}`);
  }
  if (result === "bool") return { computed: common, result: "bool" };
  // NumPy divides integers of all sizes as float64.
  const isQuotient = name === "divide" && !isFloatDType(common);
  const computed = isQuotient ? "float64" : result === "float" ? floatResult(common) : common;
  return { computed, result: computed };
}
