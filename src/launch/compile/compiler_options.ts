/**
 * The compiler options that a program may pass: one list for NVRTC and the host's C++ compiler, in
 * the forms of nvcc, NVRTC and g++.
 *
 * The list is closed. Other options of compilers load plug-ins, start programs, write files, or add
 * code to the image that ends the process.
 *
 * @module
 */

import { printableText } from "../../ffi/arguments.ts";
import {
  VECTOR_SETS,
  vectorFlags,
  type VectorSet,
  vectorSets,
} from "../../ffi/build/vector_sets.ts";
import { absolutePath } from "../../ffi/granted_environment.ts";
import type { CompileInputs } from "./compiler.ts";

/** A program's options for one compiler. */
export interface CompilerOptions {
  /** Directories of headers, absolute, in their order. */
  readonly directories: readonly string[];
  /** Headers that are included before the first line of the source. */
  readonly first: readonly string[];
  /** The architecture, such as `sm_90a`; undefined without one. */
  readonly architecture: string | undefined;
  /**
   * The options as the compiler takes them; those of g++ and clang++ include the
   * directories and headers.
   */
  readonly flags: readonly string[];
}

type Target = "host" | "nvrtc";
type Translation = (value: string, option: string) => readonly string[];

interface Rule {
  /** The option in the list of a message. */
  readonly shown: string;
  readonly form: RegExp;
  /** The values; absent for an option without one. */
  readonly value?: RegExp;
  /** Whether the value can be left out. */
  readonly optional?: true;
  readonly place?: "directory" | "first" | "architecture";
  /** The option for each compiler; absent where there is no equivalent. */
  readonly host?: Translation;
  readonly nvrtc?: Translation;
}

/** For an option that does not concern a compiler. */
const nothing: Translation = () => [];
const same: Translation = (value, option) => [value === "" ? option : `${option}=${value}`];
/** An option of NVRTC by its long name: not all have a short one. */
const long: Translation = (value, option) => same(value, option.replace(/^-*/, "--"));
const TRUTH = /^(?:true|false)$/;
/** Standards before C++17, in which the package's headers are written. */
const OLDER_CPP = /(?:03|98|0x|1[1-4xy])$/;
// A file of options begins with "@", and an option with "-".
const HEADER = /^[^@"\r\n-][^"\r\n]*$/;

/**
 * The parts of `-ffast-math`. The option itself makes older compilers link code that flushes
 * denormal numbers to zero in the thread that loads the image.
 */
const FAST_MATH = "-fno-math-errno -ffinite-math-only -fno-signed-zeros -fno-trapping-math " +
  "-fassociative-math -freciprocal-math";

/** Options of ptxas that change the code or its report, and touch no file. */
const PTXAS =
  /^(?:(?:^|,)(?:-v|--verbose|-w|-O[0-3]|--opt-level=[0-3]|-d[ls]cm=c[agsvlb]|--fmad=\w+|(?:-|--)(?:warn[\w-]+|def-(?:load|store)-cache=c\w|maxrregcount=\d+|register-usage-level=\d+|allow-expensive-optimizations=\w+|suppress-[\w-]+)))+$/;

const RULES: readonly Rule[] = [
  {
    shown: "-D NAME[=VALUE]",
    form: /^(?:-D|--define-macro)$/,
    value: /^[A-Za-z_]/,
    host: (value) => [`-D${value}`],
    nvrtc: (value) => [`--define-macro=${value}`],
  },
  {
    shown: "-U NAME",
    form: /^(?:-U|--undefine-macro)$/,
    value: /^[A-Za-z_]\w*$/,
    host: (value) => [`-U${value}`],
    nvrtc: (value) => [`--undefine-macro=${value}`],
  },
  {
    shown: "-I DIRECTORY",
    form: /^(?:-I|-iquote|--include-path)$/,
    value: /^[^]/,
    place: "directory",
    host: (value, option) => [`${option === "-iquote" ? option : "-I"}${value}`],
    nvrtc: nothing,
  },
  {
    shown: "-isystem DIRECTORY",
    form: /^(?:-isystem|-idirafter|--system-include)$/,
    value: /^[^]/,
    place: "directory",
    host: (value, option) => [`${option === "-idirafter" ? option : "-isystem"}${value}`],
    nvrtc: nothing,
  },
  {
    shown: "-include HEADER",
    form: /^(?:-include|--pre-include)$/,
    value: HEADER,
    place: "first",
    host: (value) => ["-include", value],
    nvrtc: nothing,
  },
  {
    shown: "-imacros HEADER",
    form: /^-imacros$/,
    value: HEADER,
    place: "first",
    host: (value) => ["-imacros", value],
  },
  {
    shown: "-std=c++17",
    form: /^--?std$/,
    value: /^(?:c|gnu)\+\+\d[\da-z]$/,
    host: (value) => OLDER_CPP.test(value) ? [] : [`-std=${value}`],
    nvrtc: (value) => OLDER_CPP.test(value) ? [] : [`--std=${value.replace("gnu", "c")}`],
  },
  {
    shown: "-O0 to -O3",
    form: /^-O[0-3]?$/,
    host: same,
    nvrtc: (_, option) => [`--ptxas-options=-O${option[2] ?? 1}`],
  },
  { shown: "-Og", form: /^-O[gsz]$/, host: same, nvrtc: nothing },
  {
    shown: "--use_fast_math",
    form: /^(?:--?use_fast_math|-ffast-math)$/,
    // NVIDIA's option keeps infinities and NaN; exact results satisfy it.
    host: (_, option) => option === "-ffast-math" ? FAST_MATH.split(" ") : [],
    nvrtc: () => ["--use_fast_math"],
  },
  {
    shown: "-f[no-]fast-math, -f[no-]finite-math-only and likewise",
    form:
      /^-f(?:no-fast-math|(?:no-)?(?:math-errno|finite-math-only|signed-zeros|trapping-math|associative-math|reciprocal-math|rounding-math|strict-aliasing|wrapv|unroll-loops|tree-vectorize|inline|omit-frame-pointer))$/,
    host: same,
    nvrtc: nothing,
  },
  {
    shown: "-ftemplate-depth=N",
    form: /^-f(?:template-depth|constexpr-(?:depth|loop-limit|ops-limit))$/,
    value: /^\d{1,9}$/,
    host: same,
    nvrtc: nothing,
  },
  {
    shown: "-ffp-contract=off|on|fast",
    form: /^-ffp-contract$/,
    value: /^(?:off|on|fast)$/,
    host: same,
    nvrtc: (value) => [`--fmad=${value !== "off"}`],
  },
  {
    shown: `--host-vectors=${VECTOR_SETS.join("|")}`,
    form: /^--host-vectors$/,
    // Another set's instructions would end the process.
    get value() {
      return new RegExp(`^(?:${vectorSets().join("|")})$`);
    },
    host: (value) => vectorFlags(value as VectorSet),
    nvrtc: nothing,
  },
  {
    shown: "--fmad=true|false",
    form: /^--?fmad$/,
    value: TRUTH,
    host: (value) => [`-ffp-contract=${value === "true" ? "fast" : "off"}`],
    nvrtc: long,
  },
  {
    shown: "--ftz=, --prec-div=, --prec-sqrt=true|false",
    form: /^--?(?:ftz|prec-div|prec-sqrt)$/,
    value: TRUTH,
    host: nothing,
    nvrtc: long,
  },
  {
    shown: "-w",
    form: /^(?:-w|--disable-warnings)$/,
    host: () => ["-w"],
    nvrtc: () => ["--disable-warnings"],
  },
  {
    shown: "-W[no-]WARNING",
    // Not -Wa, -Wl and -Wp, which pass options on.
    form: /^-W(?![alp]$)[\w+-]*$/,
    value: /^[\w+-]+$/,
    optional: true,
    host: same,
    nvrtc: nothing,
  },
  {
    shown: "--diag-suppress=NUMBERS",
    form: /^--?diag-(?:suppress|warn|error|remark)$/,
    value: /^[\d,]+$/,
    host: nothing,
    nvrtc: long,
  },
  {
    shown: "-G",
    form: /^(?:-G|--device-debug)$/,
    host: () => ["-g", "-Og"],
    nvrtc: () => ["--device-debug"],
  },
  {
    shown: "-lineinfo",
    form: /^(?:--?lineinfo|--generate-line-info|-g[0-3]?)$/,
    host: (_, option) => [/^-g/.test(option) ? option : "-g1"],
    nvrtc: (_, option) => option === "-g0" ? [] : ["--generate-line-info"],
  },
  {
    shown: "-arch=sm_90",
    form: /^--?(?:gpu-architecture|arch)$/,
    value: /^(?:sm|compute)_\d{2,3}[af]?$/,
    place: "architecture",
    host: nothing,
    nvrtc: nothing,
  },
  {
    shown: "--maxrregcount=N",
    form: /^--?maxrregcount$/,
    value: /^\d{1,3}$/,
    host: nothing,
    nvrtc: (value) => [`--maxrregcount=${value}`],
  },
  {
    shown: "--ptxas-options=-v,-O3,-dlcm=cg",
    form: /^(?:--ptxas-options|-Xptxas)$/,
    value: PTXAS,
    host: nothing,
    nvrtc: (value) => value.split(",").map((one) => `--ptxas-options=${one}`),
  },
  {
    shown: "--restrict",
    form:
      /^--?(?:restrict|extra-device-vectorization|(?:no-)?display-error-number|device-int128|device-float128|minimal)$/,
    host: nothing,
    nvrtc: long,
  },
  {
    shown: "--dopt=on|off",
    form: /^--?dopt$/,
    value: /^(?:on|off)$/,
    host: nothing,
    nvrtc: long,
  },
  {
    shown: "--split-compile=N",
    form: /^--?split-compile$/,
    value: /^\d{1,3}$/,
    host: nothing,
    nvrtc: long,
  },
  {
    // NVRTC compiles for the device alone, where both are always on.
    shown: "--expt-relaxed-constexpr, --extended-lambda",
    form:
      /^--?(?:expt-relaxed-constexpr|(?:expt-)?extended-lambda|device-as-default-execution-space|default-device)$/,
    host: nothing,
    nvrtc: nothing,
  },
];

/** An option whose value follows without a sign: `-DNAME`, `-isystem/usr/include`. */
const JOINED =
  /^(-[DUI])[=\s]*([^]+)$|^(-(?:isystem|iquote|idirafter|include|imacros))([^=-][^]*)$/;

/**
 * Reads a program's options. A value is joined to its option, behind `=`, or the next text.
 *
 * @param compiler The compiler in messages.
 * @throws {TypeError} If an option is not in the list, or its value is missing or wrong.
 */
export function readOptions(
  { options, name }: CompileInputs,
  compiler: string,
  target: Target,
): CompilerOptions {
  const refuse = (reason: string): never => {
    throw new TypeError(`Cannot compile ${name} with ${compiler} as ${reason}`);
  };
  const found = { directory: [] as string[], first: [] as string[], architecture: [] as string[] };
  const flags: string[] = [];
  for (let index = 0; index < options.length; index++) {
    const text = options[index]!;
    const joined = JOINED.exec(text);
    const equals = /^(--?[\w+-]+)=([^]*)$/.exec(text);
    const option = joined?.[1] ?? joined?.[3] ?? equals?.[1] ?? text;
    let value = joined?.[2] ?? joined?.[4] ?? equals?.[2];
    const rule = RULES.find((one) => one[target] !== undefined && one.form.test(option));
    const takesNone = rule !== undefined && rule.value === undefined && value !== undefined;
    if (rule === undefined || takesNone) {
      const allowed = RULES.filter((one) => one[target] !== undefined).map(({ shown }) => shown);
      return refuse(
        `the option ${printableText(text)} is not allowed: the allowed options are ` +
          allowed.join(", "),
      );
    }
    if (rule.value !== undefined && rule.optional === undefined) {
      value ??= options[++index];
      if (!value) return refuse(`the option ${option} needs a value: it has none`);
    }
    if (value !== undefined && !rule.value!.test(value)) {
      const given = printableText(value);
      return refuse(`the option ${option} must have a value as in ${rule.shown}: it is ${given}`);
    }
    const taken = rule.place === "directory"
      ? absolutePath(value!, `compile ${name}`)
      : value ?? "";
    if (rule.place !== undefined) found[rule.place].push(taken);
    flags.push(...rule[target]!(taken, option));
  }
  const { directory: directories, first, architecture } = found;
  return { directories, first, architecture: architecture.at(-1), flags };
}
