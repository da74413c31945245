/**
 * The trace `load`: loading a model of 7 billion parameters in 16 bits.
 *
 * The tensors are those of Llama 2 7B (Touvron et al., 2023, and its published configuration: 32
 * layers, width 4 096, 11 008 inside, vocabulary 32 000) in the order of its files, which is
 * alphabetical within a layer. The checkpoint holds bfloat16 and the model float16, so that each
 * tensor is read in pieces into a staging buffer on the device and converted from there; a few
 * pieces are read ahead. Query, key and value are put together once a layer has them, as are gate
 * and up.
 *
 * @module
 */

import type { MemoryTrace } from "./memory_trace.ts";
import { TraceBuilder } from "./trace_builder.ts";

const LAYERS = 32;
const WIDTH = 4096;
const INNER = 11008;
const VOCABULARY = 32000;
const HEAD = 128;
const CONTEXT = 4096;
const HALF = 2;
const SINGLE = 4;
/** Bytes of a piece that is read at a time, and pieces that are read ahead. */
const PIECE = 16 * 2 ** 20;
const AHEAD = 3;

/** A tensor of the checkpoint, and which it is put together with. */
interface CheckpointTensor {
  readonly elements: number;
  readonly merge?: "attention" | "gate";
}

const LAYER: readonly CheckpointTensor[] = [
  { elements: WIDTH }, // input_layernorm
  { elements: INNER * WIDTH }, // mlp.down_proj
  { elements: INNER * WIDTH, merge: "gate" }, // mlp.gate_proj
  { elements: INNER * WIDTH, merge: "gate" }, // mlp.up_proj
  { elements: WIDTH }, // post_attention_layernorm
  { elements: WIDTH * WIDTH, merge: "attention" }, // self_attn.k_proj
  { elements: WIDTH * WIDTH }, // self_attn.o_proj
  { elements: WIDTH * WIDTH, merge: "attention" }, // self_attn.q_proj
  { elements: HEAD / 2 }, // self_attn.rotary_emb.inv_freq
  { elements: WIDTH * WIDTH, merge: "attention" }, // self_attn.v_proj
];

class LoadRun {
  readonly builder = new TraceBuilder();
  /** Staging buffers that were read into and not converted yet, oldest first. */
  readonly #staged: number[] = [];

  run(): void {
    // Cosines and sines of the positions do not come from the file.
    for (let table = 0; table < 2; table++) this.builder.allocate(CONTEXT * HEAD * SINGLE);
    this.#load({ elements: VOCABULARY * WIDTH });
    for (let layer = 0; layer < LAYERS; layer++) this.#loadLayer();
    this.#load({ elements: WIDTH });
    this.#load({ elements: VOCABULARY * WIDTH });
    this.#convert(0);
  }

  #loadLayer(): void {
    const parts = { attention: [] as number[], gate: [] as number[] };
    let elements = 0;
    for (const tensor of LAYER) {
      const block = this.#load(tensor);
      if (tensor.merge === undefined) continue;
      parts[tensor.merge].push(block);
      elements += tensor.elements;
      const isComplete = parts[tensor.merge].length === (tensor.merge === "gate" ? 2 : 3);
      if (!isComplete) continue;
      this.#convert(0);
      this.builder.allocate(elements * HALF);
      this.builder.freeAll(parts[tensor.merge]);
      elements = 0;
    }
  }

  /** Reads a tensor in pieces, each converted when those after it have been read. */
  #load({ elements }: CheckpointTensor): number {
    const block = this.builder.allocate(elements * HALF);
    for (let left = elements * HALF; left > 0; left -= PIECE) {
      this.#staged.push(this.builder.allocate(Math.min(left, PIECE)));
      this.#convert(AHEAD);
    }
    return block;
  }

  /** Converts and frees the oldest pieces until so many are left. */
  #convert(left: number): void {
    while (this.#staged.length > left) this.builder.free(this.#staged.shift()!);
  }
}

/** Makes the trace `load`. */
export function createLoadTrace(): MemoryTrace {
  const run = new LoadRun();
  run.run();
  return run.builder.build("load", LOAD_DESCRIPTION);
}

/** What the trace is. */
export const LOAD_DESCRIPTION: string =
  "Loading a model of 7 billion parameters in float16: tensors in the order of the file, through " +
  "staging buffers on the device, some put together.";
