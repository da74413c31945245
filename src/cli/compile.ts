/**
 * `gridstride compile`: compiles a source, or prints the resources of its kernels.
 *
 * @module
 */

import { formatBytes } from "../lab/memory/mod.ts";
import { type CompiledImage, compileImage, openDevice } from "../../mod.ts";
import {
  type Command,
  DEVICE_OPTION,
  FileProblem,
  type Invocation,
  labelOf,
  printResult,
  UsageError,
  writeFile,
} from "./command.ts";
import { textTable } from "./format.ts";
import { COMPILER_LISTS, compilerOptions, readSource } from "./kernel.ts";
import { refuseOption, requireNotBoth, textOption } from "./options.ts";

const PRODUCTS = ["ptx", "cubin", "resources"] as const;
type Product = typeof PRODUCTS[number];

type NamedTarget = ReturnType<typeof targetOf>;

function productOf({ options }: Invocation): Product | undefined {
  const [first, second] = PRODUCTS.filter((product) => options[product] === true);
  return second === undefined ? first : requireNotBoth("compile", first!, second);
}

/** A target with NVIDIA's name for it: `90`, or `90a` with features of that architecture only. */
function targetOf(invocation: Invocation) {
  const arch = textOption(invocation, "arch");
  if (arch === undefined) {
    using device = openDevice(invocation.device);
    const { kind, computeCapability: capability, fake } = device.info;
    const label = `${labelOf(device)}, compute capability ${capability}`;
    return { kind, capability, architecture: capability.replace(".", ""), label, fake };
  }
  if (invocation.device !== undefined) requireNotBoth("compile", "arch", "device");
  const [, major, minor, letter] = /^(?:sm_|compute_)?([1-9]\d?)\.?(\d)([af]?)$/.exec(arch) ?? [];
  if (minor === undefined) {
    const allowed = "a compute capability such as 9.0, or an architecture such as sm_90a";
    refuseOption("arch", allowed, arch);
  }
  const capability = `${major}.${minor}`;
  const architecture = `${major}${minor}${letter}`;
  return {
    kind: "cuda" as const,
    capability,
    architecture,
    label: `sm_${architecture}`,
    fake: false,
  };
}

/** The compiler option that selects PTX or machine code. */
function productOptions(
  product: Product | undefined,
  { kind, capability, architecture }: NamedTarget,
): string[] {
  const isPtx = product === "ptx";
  if (kind === "host" && (isPtx || product === "cubin")) {
    throw new UsageError(
      `Cannot compile with --${product} for a host device: choose an NVIDIA architecture by --arch`,
    );
  }
  const isPlain = architecture === capability.replace(".", "");
  // Without the option the compiler chooses the best format for the device.
  if (!isPtx && product !== "cubin" && isPlain) return [];
  return [`--gpu-architecture=${isPtx ? "compute" : "sm"}_${architecture}`];
}

async function compile(invocation: Invocation): Promise<void> {
  const path = invocation.positional[0]!;
  const product = productOf(invocation);
  const target = targetOf(invocation);
  const added = productOptions(product, target);
  const file = await readSource(path, invocation);
  const options = compilerOptions(file, invocation);
  const compiled = await compileImage(file.source, {
    ...options,
    target: { kind: target.kind, capability: target.capability },
    options: [...options.options, ...added],
  });
  if (compiled.log.trim() !== "") console.error(compiled.log.trimEnd());
  const output = textOption(invocation, "output");
  if (output !== undefined) await writeFile(output, compiled.image);
  const kernels = kernelsOf(path, compiled);
  if (product === "resources") printResult(invocation, kernels, () => kernelTable(kernels));
  else printImage(invocation, compiled, kernels, { product, output, target });
}

/** The compiled kernels; the compiler for host devices and PTX report no resources. */
function kernelsOf(path: string, { loweredNames, resources }: CompiledImage) {
  const kernels = [...loweredNames].filter(([name]) => !name.startsWith("&"))
    .map(([kernel, lowered]) => {
      const { registers, sharedMemory, localMemory } = resources.get(lowered) ?? {};
      return { kernel, registers, sharedMemory, localMemory };
    });
  if (kernels.length > 0) return kernels;
  throw new FileProblem(
    `Cannot find a kernel in ${path}: the compiled code has none. Name an instance of a template ` +
      'such as --instance "tile<float, 32>"',
  );
}

function kernelTable(kernels: ReturnType<typeof kernelsOf>): string {
  if (kernels.every(({ registers }) => registers === undefined)) {
    return `kernels: ${kernels.map(({ kernel }) => kernel).join(", ")}\n\n` +
      "PTX and host devices have no figures of registers and memory. With NVRTC, try --cubin --arch 9.0.";
  }
  const rows = kernels.map(({ kernel, registers, sharedMemory = 0, localMemory = 0 }) => [
    ...[kernel, String(registers), formatBytes(sharedMemory), formatBytes(localMemory)],
  ]);
  return textTable(["kernel", "registers", "shared memory", "local memory"], rows, "<>>>");
}

/** Prints PTX without `--output`, but never machine code. */
function printImage(
  invocation: Invocation,
  { format, image, loweredNames }: CompiledImage,
  kernels: ReturnType<typeof kernelsOf>,
  { product, output, target: { label, fake } }: {
    readonly product: Product | undefined;
    readonly output: string | undefined;
    readonly target: NamedTarget;
  },
): void {
  const report = {
    ...{ format, fake, bytes: image.length, names: Object.fromEntries(loweredNames), kernels },
    ...(output === undefined ? {} : { output }),
  };
  printResult(invocation, report, () => {
    if (product === "ptx" && output === undefined) {
      return new TextDecoder().decode(image).replace(/\0*\n*$/, "");
    }
    const head = `${format} for ${label}, ${formatBytes(image.length)}`;
    return `${output === undefined ? head : `${head}: ${output}`}\n\n${kernelTable(kernels)}`;
  });
}

export const COMPILE: Command = {
  name: "compile",
  summary: "compile a kernel source, and show the resources of its kernels",
  arguments: "<FILE.cu>",
  description: `Compiles a CUDA source: by default for the device, to a shared library for a host
device. Compiling for an NVIDIA architecture requires NVRTC, but no GPU.`,
  options: {
    "--ptx": "compile to PTX, and print it without --output",
    "--cubin": "compile to machine code for exactly this architecture",
    "--resources": "print only the kernels and their resources",
    "--output <FILE>": "write the result to FILE",
    "--arch <ARCH>": "a compute capability or architecture: 9.0, sm_90a [that of the device]",
    ...DEVICE_OPTION,
  },
  lists: COMPILER_LISTS,
  details:
    `With --json: { format, fake, bytes, names, kernels, output }, where kernels is an array of {
kernel, registers, sharedMemory, localMemory }; for a host device of { kernel }. With --resources
only this array.

Exit code 1 if the source does not compile or has no kernel, or if there is no compiler.`,
  run: compile,
};
