/**
 * Runs the kernels of attention: one over tiles of queries, and one that merges parts of the keys.
 *
 * @module
 */

import { type KernelTemplate, templates } from "../kit/expression/kernel_template.ts";
import { cannot, refuseOption } from "../../ffi/arguments.ts";
import { bytesPerElement } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";
import { newTensor } from "../kit/kernel_call.ts";
import { broadcastStrides, type Shape, sizeOf } from "../kit/layout.ts";
import { multiplyText } from "../matmul/mma_variant.ts";
import { capability } from "../kit/precision.ts";
import { runTemplate } from "../kit/templates.ts";
import { storageOf, type Tensor } from "../tensor.ts";

/** Rows of a tile of queries: in general, and for few of them. */
const TILE_ROWS = 64;
const FEW_ROWS = 16;
/** Keys of a tile; visible blocks are multiples of it. */
export const KEY_TILE = 64;
/** The longest head. */
export const MAX_HEAD = 256;
/** Threads of a block, and how many of them share a row. */
const THREADS = 128;
const ROW_THREADS = 8;
const WARP = 32;
/** What the templates know of these. */
const CONSTANTS = {
  GS_KEY_TILE: KEY_TILE,
  GS_MAX_HEAD: MAX_HEAD,
  GS_FEW_ROWS: FEW_ROWS,
  GS_BLOCK_THREADS: THREADS,
  GS_ROW_THREADS: ROW_THREADS,
} as const;
/** Keys are split if there are fewer blocks, and a part has at least so many keys. */
const SPLIT = {
  block: { blocks: 64, keys: 512 },
  threads: { blocks: 264, keys: 256 },
  // Reads are in flight in four blocks of each multiprocessor, and four others follow.
  few: { blocks: 1056, keys: 256 },
  // Four blocks of each multiprocessor run at once, and read ahead all the time; on tensor cores two
  // blocks.
  decode: { blocks: 528, keys: 256 },
  decodeMma: { blocks: 264, keys: 256 },
} as const;
/** The most rows that are multiplied as keys are read. */
const DECODE_ROWS = 8;
/** Where tensor cores cannot do that, more rows cost CUDA threads more than the read leaves time for. */
const DECODE_THREADS_ROWS = 4;
/**
 * Steps of keys and values that a thread has under way or uses, and chunks of keys in a step. Four
 * blocks share the 228 KiB of a multiprocessor of capability 9.0.
 */
const DECODE_STAGES = 3;
const DECODE_CHUNKS = 4;
/**
 * The shared memory of a block on tensor cores, of which each multiprocessor of capability 9.0 has two,
 * and the stages that it should have.
 */
const DECODE_MMA_BYTES = 112 * 1024;
const DECODE_MMA_STAGES = 3;
/** The bytes of a read. */
const CHUNK_BYTES = 16;
/**
 * The tiles of a section, as many as blocks run at once; its keys and values are at most what the
 * second-level cache of an H100 holds.
 */
const SECTION_TILES = 256;
const SECTION_BYTES = 32 * 2 ** 20;
/** A block beyond all keys, in 32 bits. */
const MAX_BLOCK = 2 ** 31;
/** A distance beyond all keys. */
const FAR = 2 ** 40;

/** Keys in the order of the tensor, of several sequences one after another, or in pages. */
export type KeySource = "dense" | "ragged" | "paged";

/** Tensors have the axes batch, head, row and element. A batch of extent 1 serves all. */
export interface AttentionCall {
  readonly action: string;
  readonly source: KeySource;
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly out: Tensor;
  /** The logarithms of the sums, without the last axis. */
  readonly sums: Tensor | undefined;
  readonly batches: number;
  /** The length of the longest sequence. */
  readonly queries: number;
  readonly keys: number;
  readonly scale: number;
  /** The distances of visible keys from the diagonal. */
  readonly left: number;
  readonly right: number;
  readonly mask?: Tensor | undefined;
  readonly blocks?: {
    readonly mask: Tensor;
    readonly rows: number;
    readonly columns: number;
  } | undefined;
  /** The kernel that the caller asks for. */
  readonly variant: unknown;
  /** See `attention_job()` in `attention.cuh`. */
  readonly places?: {
    readonly tensor: Tensor;
    readonly width: number;
    readonly page?: number;
  };
}

/** The strides of batches, heads, rows and what follows. */
function stridesOf({ shape, strides }: Tensor, batches: number): number[] {
  return strides.map((stride, axis) => axis === 0 && shape[0] === 1 && batches > 1 ? 0 : stride);
}

/** The bits of a `float32`. */
function bitsOf(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0]!;
}

/**
 * The factor and the shift that divide integers below 2^31 by the positions of a page (Granlund and
 * Montgomery, "Division by invariant integers using multiplication", 1994).
 */
function pageDivision(page: number) {
  const bits = Math.ceil(Math.log2(page));
  return { page_factor: Math.ceil(2 ** (31 + bits) / page), page_shift: 31 + bits };
}

/** Named numbers and the lines that assign them to members of `a`. */
function membersOf(values: Readonly<Record<string, number | readonly number[]>>) {
  const numbers: Record<string, number> = {};
  const lines: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "number") {
      numbers[`a_${name}`] = value;
      lines.push(`  a.${name} = a_${name};`);
    } else {
      value.forEach((each, at) => {
        numbers[`a_${name}${at}`] = each;
        lines.push(`  a.${name}[${at}] = a_${name}${at};`);
      });
    }
  }
  return { numbers, lines };
}

/** The width of heads of values that a kernel of CUDA threads is compiled for. */
function columnsOf(valueSize: number): number {
  return [64, 128, 256].find((width) => valueSize <= width)! / ROW_THREADS;
}

/** What decides the kernel. */
type AttentionPlan = Omit<AttentionCall, "out" | "sums">;

/** The kernels: on tensor cores, of CUDA threads without them, and as vectorised loops. */
const VARIANTS = ["mma", "simt", "loops"] as const;

/** The capability from which tensor cores have the instructions of `attention_mma.cuh`. */
const MMA_CAPABILITY = "8.0";

/** The reason against tensor cores; undefined if they take the operands. */
function againstMma({ q, k, v }: AttentionPlan): string | undefined {
  const { context } = q;
  if (storageOf(q).work.form === "block") {
    return "it has CUDA threads, and the host device runs vectorised loops";
  }
  if (q.dtype === "float32") {
    return "tensor cores take float16 and bfloat16: the operands are float32";
  }
  const own = context.info.computeCapability;
  if (capability(own) < capability(MMA_CAPABILITY)) {
    return `it needs compute capability ${MMA_CAPABILITY}, and ${context.label} has ${own}`;
  }
  return [q, k, v].every(isPlaced)
    ? undefined
    : "rows of q, k and v must begin at multiples of 16 bytes";
}

/** Whether the rows of a tensor begin at multiples of 16 bytes. */
function isPlaced(tensor: Tensor): boolean {
  const size = bytesPerElement(tensor.dtype);
  const places = [storageOf(tensor).buffer.address / size + tensor.offset];
  tensor.strides.slice(0, -1).forEach((stride, axis) => {
    if (tensor.shape[axis]! > 1) places.push(stride);
  });
  return places.every((place) => place * size % CHUNK_BYTES === 0);
}

/** Rows that an instruction of a tensor core multiplies, and the bytes of their elements. */
const MMA_ROWS = 16;
const MMA_BYTES = 2;

/** The bytes of a row in shared memory, with a chunk without use. */
const pitchOf = (width: number) => width * MMA_BYTES + CHUNK_BYTES;

/** The rows of queries that share a head of keys. */
const rowsOf = ({ q, k, queries }: AttentionPlan) => queries * q.shape[1]! / k.shape[1]!;

/** Whether a call has few rows, which are multiplied as the keys are read. */
function isDecode(call: AttentionPlan): boolean {
  const { q, k, v } = call;
  return storageOf(q).work.form === "threads" && rowsOf(call) <= DECODE_ROWS &&
    [k, v].every((it) =>
      isPlaced(it) && it.shape[3]! * bytesPerElement(it.dtype) % CHUNK_BYTES === 0
    );
}

/** The stages of few rows on tensor cores; 0 if they do not take them. */
function decodeMmaStages(call: AttentionPlan): number {
  const { q, k, v } = call;
  const isTaken = isDecode(call) && [k, v].every((it) => it.shape[3]! % MMA_ROWS === 0);
  if (!isTaken) return 0;
  const { sharedMemoryPerBlock, sharedMemoryPerBlockOptIn } = q.context.info;
  const room = Math.max(sharedMemoryPerBlock, sharedMemoryPerBlockOptIn);
  const inHalf = Math.floor(Math.min(DECODE_MMA_BYTES, room) / decodeStageBytes(call));
  if (inHalf >= DECODE_MMA_STAGES) return inHalf;
  const inAll = Math.min(Math.floor(room / decodeStageBytes(call)), DECODE_MMA_STAGES);
  return inAll >= 2 ? inAll : 0;
}

/** The bytes of a stage of all warps. */
function decodeStageBytes({ k, v }: AttentionPlan): number {
  return THREADS / WARP * MMA_ROWS * (pitchOf(k.shape[3]!) + pitchOf(v.shape[3]!));
}

/** The kernel of a call, and the reason for it. */
export function chooseAttention(
  call: AttentionPlan,
): { readonly variant: typeof VARIANTS[number]; readonly reason: string } {
  const { action, q, variant } = call;
  const others = storageOf(q).work.form === "block" ? "loops" : "simt";
  const reasons = {
    mma: decodeMmaStages(call) > 0
      ? "tensor cores multiply few rows of queries as they read the keys"
      : `tensor cores multiply ${q.dtype}`,
    simt: isDecode(call)
      ? "CUDA threads multiply few rows of queries as they read the keys"
      : "CUDA threads multiply tiles in shared memory",
    loops: q.dtype === "bfloat16"
      ? "the host device runs vectorised loops, in tile registers (AMX) if the processor has them"
      : "the host device runs vectorised loops",
  };
  const against = againstMma(call);
  if (variant === undefined) {
    const isImitated = against === undefined && q.context.library.kind === "host";
    const reason = isImitated
      ? "the host device imitates tensor cores, which takes longer"
      : against;
    const isForThreads = isDecode(call) && (reason !== undefined ||
      decodeMmaStages(call) === 0 && rowsOf(call) <= DECODE_THREADS_ROWS);
    if (isForThreads) return { variant: "simt", reason: reasons.simt };
    if (reason === undefined) return { variant: "mma", reason: reasons.mma };
    return { variant: others, reason: `${reasons[others]}; not mma: ${reason}` };
  }
  const wanted = VARIANTS.find((it) => it === variant) ??
    refuseOption(TypeError, action, "variant", VARIANTS.join(", "), variant);
  const refused = wanted === "mma"
    ? against
    : wanted === others
    ? undefined
    : `kernels run as ${others} on ${q.context.label}`;
  if (refused === undefined) return { variant: wanted, reason: `${reasons[wanted]}, as requested` };
  throw new RangeError(`${cannot(action)} with options.variant ${wanted}: ${refused}`);
}

/** A kernel. */
interface AttentionKernel {
  readonly template: KernelTemplate;
  /** The name of the function with its parameters. */
  readonly name: string;
  readonly tileRows: number;
  /** Threads of a block, and its dynamic shared memory. */
  readonly block: number;
  readonly sharedMemory: number;
  readonly definitions: string;
  /** How keys are split; as in general if it does not say. */
  readonly split?: typeof SPLIT[keyof typeof SPLIT];
}

/** The kernel of a call. */
function kernelFor(call: AttentionPlan): AttentionKernel {
  const { v, source } = call;
  const rows = rowsOf(call);
  const { variant } = chooseAttention(call);
  if (variant === "mma") {
    const stages = decodeMmaStages(call);
    return stages > 0 ? decodeMmaKernel(call, stages) : tensorCoreKernel(call, rows);
  }
  if (variant === "simt" && isDecode(call)) return decodeKernel(call, rows);
  const tileRows = rows <= FEW_ROWS ? FEW_ROWS : TILE_ROWS;
  const [columns, block] = variant === "loops" ? [0, 1] : [columnsOf(v.shape[3]!), THREADS];
  return {
    template: templates.attention,
    name: `attention::attention<attention::Keys::${source}, ${tileRows}, ${columns}>`,
    tileRows,
    block,
    sharedMemory: 0,
    definitions: "",
  };
}

/** The kernel for few rows on tensor cores. */
function decodeMmaKernel(call: AttentionPlan, stages: number): AttentionKernel {
  const { q, k, v, source } = call;
  const parameters = [k.shape[3], v.shape[3], stages].join(", ");
  return {
    template: templates.attentionDecodeMma,
    name: `attention::attention_decode_mma<Multiply, attention::Keys::${source}, ${parameters}>`,
    tileRows: DECODE_ROWS,
    block: THREADS,
    sharedMemory: stages * decodeStageBytes(call),
    split: SPLIT.decodeMma,
    definitions: multiplyText([q.dtype, q.dtype]),
  };
}

/** The smallest power of two that is not less. */
const powerOfTwo = (value: number) => 2 ** Math.ceil(Math.log2(value));

/** The kernel for few rows. */
function decodeKernel({ k, v, source }: AttentionPlan, rows: number): AttentionKernel {
  const tileRows = powerOfTwo(Math.max(1, rows));
  const parameters = [tileRows, k.shape[3], v.shape[3], DECODE_STAGES, DECODE_CHUNKS].join(", ");
  return {
    template: templates.attention,
    name: `attention::attention_decode<attention::Keys::${source}, ${parameters}>`,
    tileRows,
    block: THREADS,
    sharedMemory: DECODE_STAGES * 2 * DECODE_CHUNKS * CHUNK_BYTES * THREADS,
    split: SPLIT.decode,
    definitions: "",
  };
}

/** Tiles of 128 rows that leave no multiprocessor without two of them. */
const WIDE_TILES = 264;
/** The bytes of the range of keys of a row. */
const RANGE_BYTES = 8;
/** The rows of visible blocks, and the tables of tiles. */
const BLOCK_ROW_BYTES = 8;
const TILE_TABLE_BYTES = 260;

/** The warps of a block, and how many times 16 rows each has. */
function warpsOf(
  { q, k, batches, mask, blocks }: AttentionPlan,
  rows: number,
  widest: number,
): readonly [warps: number, rowTiles: number] {
  if (rows <= FEW_ROWS) return [1, 1];
  // Twice as many rows of a warp read keys and values half as often, where registers last.
  const wideTiles = batches * k.shape[1]! * Math.ceil(rows / (2 * TILE_ROWS));
  if (wideTiles < WIDE_TILES || rows <= TILE_ROWS || widest > 128 || mask !== undefined) {
    return [4, 1];
  }
  // The queries of a tile should see the same blocks.
  const blockRows = blocks === undefined ? 0 : blocks.rows * q.shape[1]! / k.shape[1]!;
  return [blockRows % (2 * TILE_ROWS) === 0 ? 4 : 2, 2];
}

/** The kernel for tensor cores. */
function tensorCoreKernel(call: AttentionPlan, rows: number): AttentionKernel {
  const { q, v, source, blocks } = call;
  const [size, value] = [q.shape[3]!, v.shape[3]!].map((it) => Math.ceil(it / 16) * 16) as [
    number,
    number,
  ];
  const [warps, rowTiles] = warpsOf(call, rows, Math.max(size, value));
  const keyTile = Math.max(size, value) <= 128 ? KEY_TILE : KEY_TILE / 2;
  const tileRows = warps * rowTiles * MMA_ROWS;
  // The tiles of queries, keys and values with a chunk without use in each row, and the ranges of
  // keys that rows and their block see.
  const sharedMemory = (tileRows + keyTile) * pitchOf(size) + keyTile * pitchOf(value) +
    (tileRows + 1) * RANGE_BYTES +
    (blocks === undefined ? 0 : tileRows * BLOCK_ROW_BYTES + TILE_TABLE_BYTES);
  const parameters = [warps, rowTiles, keyTile, size, value, sharedMemory, blocks !== undefined]
    .join(", ");
  return {
    template: templates.attentionMma,
    name: `attention::attention_mma<Multiply, attention::Keys::${source}, ${parameters}>`,
    tileRows,
    block: warps * WARP,
    sharedMemory,
    definitions: multiplyText([q.dtype, q.dtype]),
  };
}

/**
 * Heads of keys whose tiles alternate. If tiles see different numbers of keys, the longest ones of many
 * heads begin first, and the launch does not end with a long one. Their keys and values stay in the
 * second-level cache.
 */
function sectionOf({ k, v, batches, keys, right }: AttentionPlan, tiles: number): number {
  if (storageOf(k).work.form === "block" || right >= keys) return 1;
  const bytes = keys * (k.shape[3]! + v.shape[3]!) * bytesPerElement(k.dtype);
  const heads = Math.min(Math.ceil(SECTION_TILES / tiles), Math.floor(SECTION_BYTES / bytes));
  return Math.max(1, Math.min(batches * k.shape[1]!, heads));
}

/** The tiles of queries, the parts of the keys, and the launch. */
export function planAttention(call: AttentionPlan) {
  const { source, k, batches, keys } = call;
  const heads = k.shape[1]!;
  const kernel = kernelFor(call);
  const tiles = Math.ceil(rowsOf(call) / kernel.tileRows);
  const jobs = batches * heads * tiles;
  const { form } = storageOf(k).work;
  const split = kernel.split ??
    SPLIT[form === "threads" && rowsOf(call) <= FEW_ROWS ? "few" : form];
  const wanted = source === "ragged" || jobs === 0
    ? 1
    : Math.min(Math.ceil(split.blocks / jobs), Math.floor(keys / split.keys));
  const partKeys = Math.max(1, Math.ceil(keys / Math.max(1, wanted) / KEY_TILE)) * KEY_TILE;
  const parts = Math.max(1, Math.ceil(keys / partKeys));
  return { kernel, tiles, section: sectionOf(call, tiles), partKeys, parts, grid: jobs * parts };
}

/** Runs attention on a stream; the tensors are checked. */
export function runAttention(call: AttentionCall, stream: Stream): void {
  const { action, source, q, k, v, out, sums, batches, queries, keys, mask, blocks, places } = call;
  const { context } = q;
  const heads = k.shape[1]!;
  const group = q.shape[1]! / heads;
  const valueSize = v.shape[3]!;
  const { kernel, tiles, section, partKeys, parts, grid } = planAttention(call);
  const shape = [batches, q.shape[1]!, queries, valueSize];
  const partOut = parts === 1
    ? undefined
    : newTensor(context, "float32", [parts, ...shape], stream) as Tensor;
  const partSums = parts === 1
    ? undefined
    : newTensor(context, "float32", [parts, ...shape.slice(0, 3)], stream) as Tensor;
  const partStrides = (tensor: Tensor) => [...tensor.strides.slice(1, 4), tensor.strides[0]!];
  const stored = partSums ?? sums;
  const target: Shape = [batches, q.shape[1]!, queries, keys];
  const { numbers, lines } = membersOf({
    heads,
    group,
    queries,
    keys,
    size: q.shape[3]!,
    value_size: valueSize,
    q: stridesOf(q, batches).slice(0, 3),
    k: stridesOf(k, batches).slice(0, 3),
    v: stridesOf(v, batches).slice(0, 3),
    out: partOut === undefined ? stridesOf(out, batches).slice(0, 3) : partStrides(partOut),
    sums: partSums !== undefined
      ? partStrides(partSums)
      : sums === undefined
      ? []
      : stridesOf(sums, batches),
    mask: mask === undefined ? [] : broadcastStrides(mask, target),
    blocks: blocks === undefined ? [] : broadcastStrides(blocks.mask, [
      batches,
      q.shape[1]!,
      Math.ceil(queries / blocks.rows),
      Math.ceil(keys / blocks.columns),
    ]),
    block_rows: Math.min(blocks?.rows ?? 1, MAX_BLOCK),
    block_columns: Math.min(blocks?.columns ?? 1, MAX_BLOCK),
    left: Math.min(call.left, FAR),
    right: Math.min(call.right, FAR),
    tiles,
    all_heads: batches * heads,
    section,
    parts,
    part_keys: source === "ragged" ? Math.max(partKeys, keys) : partKeys,
    page: places?.page ?? 1,
    ...pageDivision(places?.page ?? 1),
    width: places?.width ?? 0,
    // Scores are in units of log2 without a mask.
    scale: bitsOf(mask === undefined ? call.scale * Math.LOG2E : call.scale),
  });
  const { template, name, definitions, block, sharedMemory } = kernel;
  runTemplate({
    action,
    template,
    definitions,
    constants: CONSTANTS,
    inputs: {
      q,
      k,
      v,
      ...(mask === undefined ? {} : { mask }),
      ...(blocks === undefined ? {} : { blocks: blocks.mask }),
      ...(places === undefined ? {} : { places: places.tensor }),
    },
    results: { out: partOut ?? out, ...(stored === undefined ? {} : { sums: stored }) },
    numbers,
    body: [
      "  attention::Attention a{};",
      ...lines,
      `  ${name}(a, q, k, v,`,
      `      ${mask === undefined ? "static_cast<const attention::NoMask*>(nullptr)" : "mask"},`,
      `      ${blocks === undefined ? "nullptr" : "blocks"}, ${
        places === undefined ? "nullptr" : "places"
      }, out, ${stored === undefined ? "nullptr" : "sums"});`,
    ].join("\n"),
    size: grid,
    grid: { grid, block, sharedMemory },
  }, stream);
  if (partOut === undefined || partSums === undefined) return;
  using values = partOut;
  using logarithms = partSums;
  runTemplate({
    action: "attention merge",
    template: templates.attention,
    constants: CONSTANTS,
    inputs: { part_out: values, part_sums: logarithms },
    results: { out, ...(sums === undefined ? {} : { sums }) },
    numbers: { parts, rows: sizeOf(shape.slice(0, 3)), columns: valueSize },
    body:
      `  attention::merge_attention(size, chunk, parts, rows, columns, part_out, part_sums, out, ${
        sums === undefined ? "nullptr" : "sums"
      });`,
    size: sizeOf(shape),
    ...(storageOf(out).work.form === "threads"
      ? { grid: { grid: sizeOf(shape.slice(0, 3)) * Math.ceil(valueSize / WARP), block: THREADS } }
      : {}),
  }, stream);
}
