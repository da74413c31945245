/**
 * `gridstride compile`: machine code of a source, or what its kernels take.
 *
 * @module
 */

import { type CompiledImage, compileImage, type CompileTarget, openDevice } from "../../mod.ts";
import { type Command, type Invocation, printResult, UsageError } from "./command.ts";
import { reportKernelProblems } from "./kernel_problem.ts";
import { readKernelSource } from "./kernel_source.ts";
import { writeResult } from "./run_arrays.ts";
import { defineOptions, textOption } from "./run_options.ts";
import { formatBytes, textTable } from "./text_table.ts";

/** What is to be made. */
type Product = "ptx" | "cubin" | "resources";

const PRODUCTS: readonly Product[] = ["ptx", "cubin", "resources"];

/** What a kernel takes, as the command prints it. */
interface ResourceRow {
  readonly kernel: string;
  readonly registers: number;
  readonly sharedMemory: number;
  readonly localMemory: number;
}

function fileOf({ positional: [file, extra] }: Invocation): string {
  if (file === undefined) throw new UsageError("Cannot compile as FILE.cu is missing");
  if (extra === undefined) return file;
  throw new UsageError(`Cannot compile as there must be one FILE.cu: there is "${extra}" too`);
}

function productOf({ options }: Invocation): Product | undefined {
  const asked = PRODUCTS.filter((product) => options[product] === true);
  if (asked.length <= 1) return asked[0];
  const names = asked.map((product) => `--${product}`).join(" and ");
  throw new UsageError(`Cannot compile as ${names} exclude each other`);
}

/** For what to compile, and what NVIDIA calls it where that is more than the capability. */
interface NamedTarget extends CompileTarget {
  /** Such as `90` and `90a`: the letter adds what only that architecture has. */
  readonly architecture: string;
}

/** The architecture that is named, else that of the device. */
function targetOf(invocation: Invocation): NamedTarget {
  const arch = textOption(invocation, "arch");
  if (arch !== undefined && invocation.device !== undefined) {
    throw new UsageError("Cannot compile as --arch and --device exclude each other");
  }
  if (arch === undefined) {
    using device = openDevice(invocation.device);
    const { kind, computeCapability: capability } = device.info;
    return { kind, capability, architecture: capability.replace(".", "") };
  }
  const [, major, minor, letter] = /^(?:sm_|compute_)?([1-9]\d?)\.?(\d)([af]?)$/.exec(arch) ?? [];
  if (minor === undefined) {
    throw new UsageError(
      `Cannot use --arch as it must be a compute capability such as 9.0, or an architecture such ` +
        `as sm_90a: it is "${arch}"`,
    );
  }
  const architecture = `${major}${minor}${letter}`;
  return { kind: "cuda", capability: `${major}.${minor}`, architecture };
}

/** What makes the compiler for CUDA emit that; the host's has no choice. */
function formatOptions(
  product: Product | undefined,
  { kind, capability, architecture }: NamedTarget,
): string[] {
  const isPtx = product === "ptx";
  if (kind === "host" && (isPtx || product === "cubin")) {
    throw new UsageError(
      `Cannot compile with --${product} for the host device as its machine code is a shared ` +
        "library: name an architecture of NVIDIA by --arch",
    );
  }
  const isPlain = architecture === capability.replace(".", "");
  // Where nothing is said the compiler takes what suits the device best.
  if (!isPtx && product !== "cubin" && isPlain) return [];
  return [`--gpu-architecture=${isPtx ? "compute" : "sm"}_${architecture}`];
}

async function compile(invocation: Invocation): Promise<void> {
  const file = fileOf(invocation);
  const product = productOf(invocation);
  const target = targetOf(invocation);
  const { kind, capability } = target;
  const own = formatOptions(product, target);
  const { name, source, headers } = await readKernelSource(file, invocation.lists["include"] ?? []);
  const compiled = await compileImage(source, {
    name,
    headers,
    target: { kind, capability },
    defines: defineOptions(invocation),
    options: [...invocation.lists["option"] ?? [], ...own],
    instances: invocation.lists["instance"] ?? [],
  });
  if (compiled.log.trim() !== "") console.error(compiled.log.trimEnd());
  const output = textOption(invocation, "output");
  if (output !== undefined) await writeResult(output, compiled.image);
  if (product === "resources") printResources(invocation, compiled);
  else printImage(invocation, compiled, product, output);
}

/** The name that the source has for a kernel of the machine code. */
function expressionOf({ loweredNames }: CompiledImage, lowered: string): string {
  return [...loweredNames].find(([, name]) => name === lowered)?.[0] ?? lowered;
}

function printResources(invocation: Invocation, compiled: CompiledImage): void {
  const rows: ResourceRow[] = [...compiled.resources].map(([lowered, figures]) => ({
    kernel: expressionOf(compiled, lowered),
    registers: figures.registers,
    sharedMemory: figures.sharedMemory,
    localMemory: figures.localMemory,
  }));
  printResult(
    invocation,
    rows,
    () =>
      rows.length === 0 ? noResources(compiled) : textTable(
        ["kernel", "registers", "shared memory", "local memory"],
        rows.map(({ kernel, registers, sharedMemory, localMemory }) => [
          kernel,
          String(registers),
          formatBytes(sharedMemory),
          formatBytes(localMemory),
        ]),
        ["left", "right", "right", "right"],
      ),
  );
}

/** Why there is nothing to show. */
function noResources({ format, loweredNames }: CompiledImage): string {
  if ([...loweredNames.keys()].every((name) => name.startsWith("&"))) {
    return "there are no kernels in it";
  }
  if (format === "ptx") return "what kernels take is known of machine code, and this is PTX";
  return "the host device's compiler does not say what kernels take: try --arch 9.0";
}

/** Text goes to stdout where no file is named; machine code never does. */
function printImage(
  invocation: Invocation,
  { format, image, loweredNames }: CompiledImage,
  product: Product | undefined,
  output: string | undefined,
): void {
  const names = Object.fromEntries(loweredNames);
  const report = {
    format,
    bytes: image.length,
    names,
    ...(output === undefined ? {} : { output }),
  };
  printResult(invocation, report, () => {
    if (product === "ptx" && output === undefined) {
      return new TextDecoder().decode(image).replace(/\0*\n*$/, "");
    }
    const head = `${format}, ${formatBytes(image.length)}${
      output === undefined ? "" : `: ${output}`
    }`;
    return [head, ...[...loweredNames].map(([name, lowered]) => `  ${name} is ${lowered}`)].join(
      "\n",
    );
  });
}

/** The command. */
export const COMPILE: Command = {
  name: "compile",
  summary: "compile a kernel source to PTX or machine code, or show what kernels take",
  help: `gridstride compile FILE.cu [--ptx | --cubin | --resources] [options]

Compiles a CUDA source. For an NVIDIA architecture that takes NVRTC or nvcc, and no GPU.

  --ptx            PTX, on stdout where no --output is given
  --cubin          machine code for exactly the architecture
  --resources      registers, shared and local memory of each kernel
  --output FILE    where the result is written
  --arch 9.0       the compute capability to compile for, or an architecture such as sm_90a; that of
                   the device by default
  --device DEVICE  the device to compile for: cuda, cuda:N, host or host:N
  --instance NAME  an instance of a template, such as "tile<float, 32>"; may be given several times,
                   as the next three
  --define K=V     a macro
  --include DIR    where headers are looked for, besides beside the file
  --option TEXT    an option for the compiler, in its words

With none of the first three: what suits the device, a shared library for the host device.
With --json: { format, bytes, names, output }, and with --resources an array of { kernel, registers,
sharedMemory, localMemory }; of the host device's kernels it is empty.
Exit code 1 when the source does not compile, or there is no compiler.`,
  options: {
    values: ["output", "arch"],
    flags: [...PRODUCTS],
    lists: ["instance", "define", "include", "option"],
  },
  run: (invocation) => reportKernelProblems(() => compile(invocation)),
};
