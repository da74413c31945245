/**
 * The trace `load`: loading a model of 7 billion parameters in 16 bits.
 *
 * The tensors are those of Llama 2 7B (Touvron et al., 2023, and its published configuration: 32
 * layers, width 4 096, inner width 11 008, vocabulary 32 000) in the order of its files, which is
 * alphabetical within a layer. The checkpoint holds bfloat16 and the model float16, so each tensor
 * is read in pieces into a staging buffer on the device and converted from there, with a few pieces
 * read ahead. Query, key and value of a layer are merged, and so are gate and up.
 *
 * @module
 */

import { type GeneratedTrace, generatedTrace } from "./generated_trace.ts";

const LAYERS = 32;
const WIDTH = 4096;
const INNER = 11008;
const VOCABULARY = 32000;
const HEAD = 128;
const CONTEXT = 4096;
const HALF = 2;
const SINGLE = 4;
/** Bytes of a piece, and pieces read ahead. */
const PIECE = 16 * 2 ** 20;
const AHEAD = 3;

/** The elements of a layer's tensors, and the group to which they are merged. */
const LAYER: readonly { readonly elements: number; readonly merge?: "attention" | "gate" }[] = [
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

/** The trace. */
export const LOAD: GeneratedTrace = generatedTrace(
  "load",
  "Loading a model of 7 billion parameters in float16: tensors in the order of the file, through " +
    "staging buffers on the device, some put together.",
  0,
  (builder) => {
    /** Staging buffers before their conversion, oldest first. */
    const staged: number[] = [];
    const convertUntil = (left: number) => {
      while (staged.length > left) builder.free(staged.shift()!);
    };
    const load = (elements: number) => {
      const block = builder.allocate(elements * HALF);
      for (let left = elements * HALF; left > 0; left -= PIECE) {
        staged.push(builder.allocate(Math.min(left, PIECE)));
        convertUntil(AHEAD);
      }
      return block;
    };
    // Cosines and sines of the positions do not come from the file.
    for (let table = 0; table < 2; table++) builder.allocate(CONTEXT * HEAD * SINGLE);
    load(VOCABULARY * WIDTH);
    for (let layer = 0; layer < LAYERS; layer++) {
      const parts = { attention: [] as number[], gate: [] as number[] };
      let merged = 0;
      for (const { elements, merge } of LAYER) {
        const block = load(elements);
        if (merge === undefined) continue;
        parts[merge].push(block);
        merged += elements;
        if (parts[merge].length < (merge === "gate" ? 2 : 3)) continue;
        convertUntil(0);
        builder.allocate(merged * HALF);
        builder.freeAll(parts[merge]);
        merged = 0;
      }
    }
    load(WIDTH);
    load(VOCABULARY * WIDTH);
    convertUntil(0);
  },
);
