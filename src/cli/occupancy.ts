/**
 * `gridstride occupancy`: blocks and warps that a multiprocessor holds at once, and their limits.
 *
 * @module
 */

import { formatBytes } from "../lab/memory/mod.ts";
import {
  capabilityLimits,
  type CompiledImage,
  compileImage,
  CompilerUnavailableError,
  type Occupancy,
  occupancy,
  type OccupancyLimits,
  occupancyLimits,
  type OccupancyUsage,
  openDevice,
} from "../../mod.ts";
import {
  type Command,
  DEVICE_OPTION,
  FileProblem,
  type Invocation,
  labelOf,
  printResult,
  UsageError,
} from "./command.ts";
import { formatPercent, plural, textTable, wrapText } from "./format.ts";
import {
  COMPILER_LISTS,
  compilerOptions,
  DEFAULT_BLOCK,
  kernelExpression,
  readSource,
} from "./kernel.ts";
import { extentsOption, integerOption, requireNotBoth, sizeOption, textOption } from "./options.ts";

const MAX_INTEGER = 2 ** 31 - 1;
/** Barriers of a block, a limit of the hardware. */
const MAX_BARRIERS = 16;

type Subject = ReturnType<typeof subjectOf>;

function subjectOf(invocation: Invocation) {
  const capability = textOption(invocation, "capability");
  if (capability === undefined) {
    using device = openDevice(invocation.device);
    const { computeCapability } = device.info;
    return {
      capability: computeCapability,
      device: device.label,
      fake: device.info.fake,
      label: `${labelOf(device)}, compute capability ${computeCapability}`,
      limits: occupancyLimits(device.info),
    };
  }
  if (invocation.device !== undefined) requireNotBoth("occupancy", "capability", "device");
  const limits = capabilityLimits(capability);
  if (!limits.exact) {
    console.error(
      `compute capability ${capability} is unknown: the limits are those of ${limits.source}`,
    );
  }
  return {
    capability,
    device: null,
    fake: false,
    label: `compute capability ${capability}`,
    limits,
  };
}

function threadsOf(invocation: Invocation): number {
  const threads = integerOption(invocation, "threads", 1, MAX_INTEGER);
  const block = extentsOption(invocation, "block");
  if (threads !== undefined && block !== undefined) requireNotBoth("occupancy", "threads", "block");
  const product = threads ?? block?.reduce((all, extent) => all * extent, 1) ?? DEFAULT_BLOCK;
  if (product <= MAX_INTEGER) return product;
  throw new UsageError(
    `Cannot use --block as it must have at most ${MAX_INTEGER} threads: it has ${product}`,
  );
}

type KernelFigures = Pick<
  OccupancyUsage,
  "registersPerThread" | "staticSharedMemory" | "maxThreadsPerBlock"
>;

/** The resources from the options, or from compiling the kernel. */
async function kernelFigures(invocation: Invocation, capability: string): Promise<KernelFigures> {
  const [file, signature] = invocation.positional;
  const registers = integerOption(invocation, "registers", 0, MAX_INTEGER);
  const shared = sizeOption(invocation, "shared", MAX_INTEGER);
  if (file === undefined) {
    if (registers !== undefined) {
      return { registersPerThread: registers, staticSharedMemory: shared ?? 0 };
    }
    throw new UsageError("Cannot run gridstride occupancy as --registers or FILE.cu is missing");
  }
  if (signature === undefined) {
    throw new UsageError(
      "Cannot run gridstride occupancy as the name of a kernel after FILE.cu is missing",
    );
  }
  if (registers !== undefined || shared !== undefined) {
    const option = registers === undefined ? "shared" : "registers";
    throw new UsageError(`Cannot use --${option} with FILE.cu as compiling the file determines it`);
  }
  return await compiledFigures(file, signature, capability, invocation);
}

/** Characters of PTX that contain the parameters and directives of any kernel. */
const MAX_KERNEL_HEAD = 65_536;

/** The launch bounds in PTX; machine code has no documented form of them. */
function launchBounds({ image }: CompiledImage, lowered: string): number | undefined {
  const ptx = new TextDecoder().decode(image);
  const begin = ptx.indexOf(`.entry ${lowered}(`);
  if (begin < 0) return undefined;
  const [head] = ptx.slice(begin, begin + MAX_KERNEL_HEAD).split("\n{", 1);
  const extents = /\.(?:max|req)ntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?/.exec(head!);
  if (extents === null) return undefined;
  const [, x, y = 1, z = 1] = extents;
  return Number(x) * Number(y) * Number(z);
}

async function compiledFigures(
  path: string,
  signature: string,
  capability: string,
  invocation: Invocation,
): Promise<KernelFigures> {
  const expression = kernelExpression(signature);
  const file = await readSource(path, invocation);
  const options = {
    ...compilerOptions(file, invocation, expression),
    target: { kind: "cuda", capability },
  } as const;
  const compiled = await compileImage(file.source, options).catch((error) => {
    if (!(error instanceof CompilerUnavailableError)) throw error;
    const command = `nvcc -cubin -arch=sm_${capability.replace(".", "")} --resource-usage ${path}`;
    throw new FileProblem(
      `${error.message}\nOr give --registers and --shared without FILE: ${command} prints both.`,
    );
  });
  if (compiled.log.trim() !== "") console.error(compiled.log.trimEnd());
  const lowered = compiled.loweredNames.get(expression);
  const resources = lowered === undefined ? undefined : compiled.resources.get(lowered);
  if (lowered !== undefined && resources !== undefined) {
    const virtual = `--gpu-architecture=compute_${capability.replace(".", "")}`;
    const ptx = await compileImage(file.source, {
      ...options,
      options: [...options.options, virtual],
    });
    const bounds = launchBounds(ptx, lowered);
    return {
      registersPerThread: resources.registers,
      staticSharedMemory: resources.sharedMemory,
      ...(bounds === undefined ? {} : { maxThreadsPerBlock: bounds }),
    };
  }
  const known = [...compiled.loweredNames]
    .flatMap(([name, other]) => compiled.resources.has(other) ? [name] : []);
  const isTemplate = !expression.includes("<") && /\btemplate\s*</.test(file.source);
  const hint = isTemplate ? `; name an instance of a template as ${expression}<…>` : "";
  throw new FileProblem(
    `Cannot calculate occupancy as ${expression} must be a kernel of ${path}: it has ` +
      (known.length === 0 ? "none" : known.join(", ")) + hint,
  );
}

function limitTable(result: Occupancy, usage: OccupancyUsage, limits: OccupancyLimits): string {
  const shared = formatBytes(usage.staticSharedMemory + usage.dynamicSharedMemory);
  const reserved = limits.reservedSharedMemoryPerBlock;
  const resources = [
    ["warps", "warps", String(Math.ceil(usage.threadsPerBlock / limits.warpSize))],
    ["blocks", "blocks", "1"],
    ["registers", "registers", `${usage.registersPerThread} a thread`],
    [
      ...["sharedMemory", "shared memory"] as const,
      reserved === 0 ? shared : `${shared} + ${formatBytes(reserved)}`,
    ],
    ["barriers", "barriers", String(usage.barriersPerBlock ?? 1)],
  ] as const;
  const rows = resources.map(([name, title, used]) => {
    const blocks = result.limits[name];
    const mark = blocks === result.activeBlocks ? "←" : "";
    return [title, used, blocks === null ? "any" : String(blocks), mark];
  });
  return textTable(["resource", "per block", "blocks", "limit"], rows, "<<>");
}

/** Eighths of the height of a line. */
const BARS = "▁▂▃▄▅▆▇█";

/** The occupancy for every number of warps of a block, as bars; a dot for 0. */
function blockSizeLine(usage: OccupancyUsage, limits: OccupancyLimits): string {
  const { warpSize, maxThreadsPerBlock } = limits;
  const count = Math.floor(maxThreadsPerBlock / warpSize);
  const bars = Array.from({ length: count }, (_, index) => {
    const threadsPerBlock = (index + 1) * warpSize;
    const share = occupancy(limits, { ...usage, threadsPerBlock }).occupancy;
    return share === 0 ? "·" : BARS[Math.ceil(share * BARS.length) - 1]!;
  });
  const chosen = Math.ceil(usage.threadsPerBlock / warpSize) - 1;
  const marker = chosen < count ? `\n${" ".repeat(chosen)}↑ ${usage.threadsPerBlock}` : "";
  return `occupancy for blocks of ${warpSize} to ${count * warpSize} threads\n${
    bars.join("")
  }${marker}`;
}

function describe(
  { label, limits }: Subject,
  result: Occupancy,
  usage: OccupancyUsage,
): string {
  const { activeBlocks, activeWarps, advice } = result;
  const warps = Math.floor(limits.maxThreadsPerMultiprocessor / limits.warpSize);
  const head = `${label}: ${plural(activeBlocks, "block")} of ` +
    `${plural(usage.threadsPerBlock, "thread")} on a multiprocessor, ${activeWarps} of ` +
    `${warps} warps, ${formatPercent(result.occupancy)}`;
  const parts = [
    head,
    limitTable(result, usage, limits),
    blockSizeLine(usage, limits),
    wrapText(advice),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

async function calculate(invocation: Invocation): Promise<void> {
  const threadsPerBlock = threadsOf(invocation);
  const dynamicSharedMemory = sizeOption(invocation, "dynamic", MAX_INTEGER) ?? 0;
  const barriersPerBlock = integerOption(invocation, "barriers", 0, MAX_BARRIERS) ?? 1;
  const subject = subjectOf(invocation);
  const figures = await kernelFigures(invocation, subject.capability);
  const usage = { ...figures, threadsPerBlock, dynamicSharedMemory, barriersPerBlock };
  const result = occupancy(subject.limits, usage);
  const { device, fake } = subject;
  printResult(invocation, { device, fake, ...result }, () => describe(subject, result, usage));
}

export const OCCUPANCY: Command = {
  name: "occupancy",
  summary: "calculate the occupancy of a kernel, and its limits",
  arguments: "[FILE.cu] [SIGNATURE]",
  description: `Calculates the blocks that a multiprocessor holds at once, as NVIDIA's occupancy
calculator does. The resources of the kernel are given as options, or determined by compiling
FILE.cu. Compiling requires NVRTC, but no GPU.`,
  options: {
    "--capability <9.0>": "the compute capability; by default that of the device",
    ...DEVICE_OPTION,
    "--threads <N>": "threads of a block; 256 by default",
    "--block <X,Y,Z>": "extents of a block, instead of --threads",
    "--registers <N>": "registers of a thread",
    "--shared <SIZE>": "static shared memory of a block, such as 16KiB; 0 by default",
    "--dynamic <SIZE>": "dynamic shared memory of a block; 0 by default",
    "--barriers <N>": "hardware barriers of a block, 0 to 16; 1 by default",
  },
  lists: COMPILER_LISTS,
  details: `With --json: { device, fake, activeBlocks, activeWarps, occupancy, limits: { warps,
blocks, registers, sharedMemory, barriers }, limiter, advice }. Each limit is the number of blocks
that this resource allows, or null if a block does not use it. The occupancy of a block that does
not fit is 0.

Exit code 1 if the source does not compile, or if there is no compiler.`,
  run: calculate,
};
