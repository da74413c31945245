/**
 * The tokenizer of a model's files.
 *
 * @module
 */

import { cannot } from "../../ffi/arguments.ts";
import type { ModelSource } from "../files/model_source.ts";
import { ggufTokenizer } from "./gguf_tokenizer.ts";
import { ModelTokenizer } from "./tokenizer.ts";

/**
 * Makes the tokenizer of an opened model.
 *
 * @throws {TypeError} If the files have none, or none of a kind that is supported.
 * @throws {Error} If the chat template is no valid Jinja.
 */
export function tokenizerOf(
  { tokenizer, chatTemplate }: ModelSource,
  action: string,
): ModelTokenizer {
  if (tokenizer === undefined) {
    throw new TypeError(`${cannot(action)} as its files must have a tokenizer: there is none`);
  }
  const files = tokenizer.kind === "gguf" ? ggufTokenizer(tokenizer.metadata()) : tokenizer;
  // A template in a file of its own is newer than that of the tokenizer's configuration.
  const config = chatTemplate === undefined
    ? files.config
    : { ...files.config as object, chat_template: chatTemplate };
  return new ModelTokenizer({ tokenizer: files.tokenizer, config });
}
