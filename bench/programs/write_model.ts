/**
 * Writes a GGUF file with random ternary weights in the dimensions of BitNet b1.58 2B4T, and the
 * tokenizer of LLaMA 3: `deno run -A bench/programs/write_model.ts FILE [--embedding float16|q8_0|q6_k]
 * [--layers 30]`.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import {
  BITNET_2B4T,
  EMBEDDING_TYPES,
  writeRandomModel,
} from "../../tests/bitnet/files/random_model_file.ts";
import { llama3Vocabulary } from "../../tests/bitnet/tokenizer/vocabularies.ts";

const { _: [path], embedding: name = "float16", layers = "30" } = parseArgs(Deno.args, {
  string: ["_", "embedding", "layers"],
});
const embedding = EMBEDDING_TYPES.find((type) => type === name);
if (path === undefined || embedding === undefined) {
  throw new TypeError(`Usage: write_model.ts FILE --embedding ${EMBEDDING_TYPES.join("|")}`);
}
await writeRandomModel(String(path), {
  sizes: { ...BITNET_2B4T, layers: Number(layers) },
  embedding,
  tokenizer: llama3Vocabulary(),
});
