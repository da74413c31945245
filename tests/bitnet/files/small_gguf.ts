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

/** Makes the file. The name of the model is `small`. */
export function smallGguf(contextLength = 256): Uint8Array<ArrayBuffer> {
  const vocabulary = smallVocabulary() as Record<string, KeyValue>;
  const rows = (vocabulary["tokenizer.ggml.tokens"] as readonly string[]).length;
  let state = 1;
  const values = Float32Array.from({ length: rows * SIZES.hidden }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
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
    },
    [embedding, ...modelTensors(ternaryTensor(35, "tq2_0")).slice(1)],
  );
}
