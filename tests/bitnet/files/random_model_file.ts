/**
 * Writes models of any size with random ternary weights as GGUF files, such as one with the dimensions
 * of BitNet b1.58 2B4T. No more than a piece of a weight is in memory.
 *
 * @module
 */

import { ggufHeader, type KeyValue, type TensorRow } from "./model_files.ts";

/** The sizes of a model. */
export interface ModelSizes {
  readonly layers: number;
  readonly hidden: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly context: number;
  readonly vocabulary: number;
}

/** The sizes of BitNet b1.58 2B4T. */
export const BITNET_2B4T: ModelSizes = {
  layers: 30,
  hidden: 2560,
  feedForward: 6912,
  heads: 20,
  keyValueHeads: 5,
  context: 4096,
  vocabulary: 128256,
};

/** A type of the embedding: its number in GGUF files, and the elements and bytes of a block. */
const EMBEDDINGS = {
  float32: { type: 0, elements: 1, bytes: 4 },
  float16: { type: 1, elements: 1, bytes: 2 },
  q8_0: { type: 8, elements: 32, bytes: 34 },
  q6_k: { type: 14, elements: 256, bytes: 210 },
} as const;

/** A type of the embedding. */
export type EmbeddingType = keyof typeof EMBEDDINGS;

/** Names of the types of the embedding. */
export const EMBEDDING_TYPES = Object.keys(EMBEDDINGS) as EmbeddingType[];

/** A model to write. */
export interface RandomModelFile {
  readonly sizes: ModelSizes;
  /** `float16` by default, as in the official file. */
  readonly embedding?: EmbeddingType;
  /** Keys that begin with `tokenizer.`. */
  readonly tokenizer: Readonly<Record<string, unknown>>;
  readonly seed?: number;
}

/** Bytes that are written at once: whole blocks of each type, and whole groups of 128 weights. */
const PIECE = 2 ** 7 * 3 * 5 * 7 * 17 * 32;
const I2_S = 36;

/** Random 32-bit numbers (xorshift). */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 2654435761 | 1;
  }

  fill(words: Uint32Array): void {
    let x = this.#state;
    for (let at = 0; at < words.length; at++) {
      x ^= x << 13;
      x ^= x >>> 17;
      x ^= x << 5;
      words[at] = x;
    }
    this.#state = x;
  }
}

/** The byte of four codes 0, 1 and 2 for each random byte. */
const CODES = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = (place: number) => Math.floor(byte / 3 ** place) % 3;
  return digit(0) | digit(1) << 2 | digit(2) << 4 | digit(3) << 6;
});

/** Numbers of about −0.12 to 0.12 for each random byte, which `float16` has exactly. */
const NUMBERS = Float32Array.from({ length: 256 }, (_, byte) => (byte - 127.5) / 1024);
const HALVES = new Uint16Array(new Float16Array(NUMBERS).buffer);

/** What turns random bytes into those of a weight. */
type Fill = (bytes: Uint8Array<ArrayBuffer>, random: Random) => void;

const words = ({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>, divisor: number) =>
  new Uint32Array(buffer, byteOffset, Math.floor(length / divisor));

const ternary: Fill = (bytes, random) => {
  random.fill(words(bytes, 4));
  for (let at = 0; at < bytes.length; at++) bytes[at] = CODES[bytes[at]!]!;
};

/** Numbers of a table, chosen by random bytes, which are read from the end of the piece. */
const numbers = (table: Uint16Array | Float32Array<ArrayBuffer>): Fill => (bytes, random) => {
  const size = table.BYTES_PER_ELEMENT;
  const count = bytes.length / size;
  const chosen = new Uint8Array(Math.ceil(count / 4) * 4);
  random.fill(words(chosen, 4));
  const Kind = table.constructor as Uint16ArrayConstructor;
  const own = new Kind(bytes.buffer, bytes.byteOffset, count);
  for (let at = 0; at < count; at++) own[at] = table[chosen[at]!]!;
};

/** Blocks of random bytes with a scale at a place. */
const blocks = (size: number, place: number, scale: number): Fill => (bytes, random) => {
  random.fill(words(bytes, 4));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = place; at < bytes.length; at += size) view.setFloat16(at, scale, true);
};

const FILLS: Readonly<Record<EmbeddingType, Fill>> = {
  float32: numbers(NUMBERS),
  float16: numbers(HALVES),
  q8_0: blocks(34, 0, 2 ** -10),
  q6_k: blocks(210, 208, 2 ** -14),
};

/** Norms of 0.5 to 1.5. */
const norm: Fill = numbers(Float32Array.from({ length: 256 }, (_, byte) => 0.5 + byte / 256));

/** A tensor, what fills it, and the scale behind a ternary one. */
interface Part extends TensorRow {
  readonly fill: Fill;
  readonly scale?: number;
}

/** The tensors in the order of the official file. */
function partsOf({ sizes, embedding = "float16" }: RandomModelFile): Part[] {
  const { layers, hidden, feedForward, heads, keyValueHeads, vocabulary } = sizes;
  const keys = hidden / heads * keyValueHeads;
  const { type, elements, bytes } = EMBEDDINGS[embedding];
  const table = vocabulary * hidden / elements * bytes;
  const vector = (name: string, length: number): Part => (
    { name: `${name}.weight`, shape: [length], type: 0, length: 4 * length, fill: norm }
  );
  let index = 0;
  const matrix = (name: string, rows: number, columns: number): Part => ({
    ...{ name: `${name}.weight`, shape: [rows, columns], type: I2_S, fill: ternary },
    length: rows * columns / 4 + 32,
    // Outputs are larger than inputs, so attention is to few positions, and tokens do not repeat soon.
    scale: (2 + index++ % 3) / Math.sqrt(columns),
  });
  const layer = (at: number): Part[] => {
    const own = (name: string) => `blk.${at}.${name}`;
    return [
      vector(own("attn_norm"), hidden),
      matrix(own("ffn_down"), hidden, feedForward),
      vector(own("ffn_sub_norm"), feedForward),
      matrix(own("ffn_gate"), feedForward, hidden),
      matrix(own("ffn_up"), feedForward, hidden),
      vector(own("ffn_norm"), hidden),
      vector(own("attn_sub_norm"), hidden),
      matrix(own("attn_k"), keys, hidden),
      matrix(own("attn_output"), hidden, hidden),
      matrix(own("attn_q"), hidden, hidden),
      matrix(own("attn_v"), keys, hidden),
    ];
  };
  return [
    {
      ...{ name: "token_embd.weight", shape: [vocabulary, hidden], type, length: table },
      fill: FILLS[embedding],
    },
    ...Array.from({ length: layers }, (_, at) => layer(at)).flat(),
    vector("output_norm", hidden),
  ];
}

function keysOf({ sizes, tokenizer }: RandomModelFile): Record<string, KeyValue> {
  const own = {
    block_count: sizes.layers,
    embedding_length: sizes.hidden,
    feed_forward_length: sizes.feedForward,
    context_length: sizes.context,
    vocab_size: sizes.vocabulary,
    "attention.head_count": sizes.heads,
    "attention.head_count_kv": sizes.keyValueHeads,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "rope.dimension_count": sizes.hidden / sizes.heads,
    "rope.freq_base": 500000,
  };
  const keys = Object.entries(own).map(([name, value]) => [`bitnet-b1.58.${name}`, value]);
  return {
    "general.architecture": "bitnet-b1.58",
    "general.name": "random weights",
    "general.file_type": 40,
    ...Object.fromEntries(keys),
    ...tokenizer as Record<string, KeyValue>,
  };
}

/** Writes a model. The same seed gives the same weights. */
export async function writeRandomModel(path: string, model: RandomModelFile): Promise<void> {
  const parts = partsOf(model);
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  const write = async (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  };
  await write(ggufHeader(keysOf(model), parts));
  const random = new Random(model.seed ?? 1);
  const memory = new Uint8Array(PIECE);
  for (const { length, fill, scale } of parts) {
    const tail = scale === undefined ? 0 : 32;
    for (let at = 0; at < length - tail; at += PIECE) {
      const piece = memory.subarray(0, Math.min(PIECE, length - tail - at));
      fill(piece, random);
      await write(piece);
    }
    const end = new Uint8Array(tail + (-length & 31));
    if (scale !== undefined) new DataView(end.buffer).setFloat32(0, scale, true);
    await write(end);
  }
}
