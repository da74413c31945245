/**
 * A GGUF file of a small model that speaks: random weights and a whole tokenizer.
 *
 * @module
 */

import { smallVocabulary } from "../tokenizer/vocabularies.ts";
import {
  floatBytes,
  ggufFile,
  type KeyValue,
  modelKeys,
  modelTensors,
  SIZES,
  ternaryTensor,
} from "./model_files.ts";

/**
 * Makes the file. Without a key of its own, the name of the model is `small`. It does not choose tokens that end an answer, on no
 * device: their rows are 0, and so are their logits, below those of many others.
 */
export function smallGguf(
  contextLength = 256,
  own: Readonly<Record<string, KeyValue>> = {},
): Uint8Array<ArrayBuffer> {
  const vocabulary = smallVocabulary() as Record<string, KeyValue>;
  const rows = (vocabulary["tokenizer.ggml.tokens"] as readonly string[]).length;
  let state = 1;
  const begin = vocabulary["tokenizer.ggml.bos_token_id"] as number;
  const values = Float32Array.from({ length: rows * SIZES.hidden }, (_, at) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return at < (begin + 1) * SIZES.hidden ? state / 2 ** 32 - 0.5 : 0;
  });
  const { "tokenizer.chat_template": _, ...keys } = modelKeys();
  const embedding = {
    ...{ name: "token_embd.weight", shape: [rows, SIZES.hidden], type: 1 },
    bytes: floatBytes(values, "float16"),
  };
  return ggufFile(
    {
      ...keys,
      ...vocabulary,
      "general.name": "small",
      "bitnet-b1.58.vocab_size": rows,
      "bitnet-b1.58.context_length": contextLength,
      ...own,
    },
    [embedding, ...modelTensors(ternaryTensor(35, "tq2_0")).slice(1)],
  );
}
