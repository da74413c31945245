import { assertEquals, assertThrows } from "@std/assert";
import { ggufTokenizer } from "../../../src/bitnet/tokenizer/gguf_tokenizer.ts";
import { ModelTokenizer } from "../../../src/bitnet/tokenizer/tokenizer.ts";
import { BEGIN, smallVocabulary } from "./vocabularies.ts";

/** The small vocabulary with other values. */
function tokenizerWith(values: Record<string, unknown>): ModelTokenizer {
  return new ModelTokenizer(ggufTokenizer({ ...smallVocabulary(), ...values }));
}

Deno.test("ggufTokenizer() splits words as tokenizer.ggml.pre says, by default as LLaMA 3", () => {
  // GPT-2 takes all digits for one word, LLaMA 3 three at a time.
  const [tokens, merges] = ["tokens", "merges"].map((name) =>
    smallVocabulary()[`tokenizer.ggml.${name}`] as string[]
  );
  const digits = {
    "tokenizer.ggml.tokens": [...tokens!, "12", "34", "1234"],
    "tokenizer.ggml.merges": [...merges!, "1 2", "3 4", "12 34"],
    "tokenizer.ggml.token_type": undefined,
  };
  const count = (pre: string | undefined) =>
    tokenizerWith({ ...digits, "tokenizer.ggml.pre": pre })
      .encode("1234", { addSpecialTokens: false }).length;
  assertEquals([undefined, "llama-bpe", "gpt-2"].map(count), [3, 3, 1]);
});

Deno.test("ggufTokenizer() takes types of tokens from typed arrays, and defaults without them", () => {
  const types = smallVocabulary()["tokenizer.ggml.token_type"] as number[];
  const text = "hello<|eot_id|>";
  const expected = tokenizerWith({}).encode(text);
  assertEquals(
    tokenizerWith({ "tokenizer.ggml.token_type": Int32Array.from(types) }).encode(text),
    expected,
  );
  // Without types, only the tokens that keys name are special.
  const untyped = tokenizerWith({ "tokenizer.ggml.token_type": undefined });
  assertEquals([untyped.isSpecial(BEGIN), untyped.isSpecial(BEGIN + 2)], [true, false]);
  const named = tokenizerWith({
    "tokenizer.ggml.token_type": undefined,
    "tokenizer.ggml.eot_token_id": BEGIN + 2,
  });
  assertEquals(named.encode(text), expected);
});

Deno.test("ggufTokenizer() finds user-defined tokens, which are not special", () => {
  const types = [...smallVocabulary()["tokenizer.ggml.token_type"] as number[]];
  types[BEGIN + 2] = 4;
  const tokenizer = tokenizerWith({ "tokenizer.ggml.token_type": types });
  assertEquals(tokenizer.encode("<|eot_id|>"), [BEGIN, BEGIN + 2]);
  assertEquals(tokenizer.decode([BEGIN, BEGIN + 2]), "<|eot_id|>");
});

Deno.test("ggufTokenizer() keeps a token by the name __proto__", () => {
  const { "tokenizer.ggml.tokens": tokens } = smallVocabulary();
  const tokenizer = tokenizerWith({
    "tokenizer.ggml.tokens": [...tokens as string[], "__proto__"],
    "tokenizer.ggml.token_type": undefined,
  });
  assertEquals(tokenizer.decode([BEGIN + 3]), "__proto__");
});

Deno.test("ggufTokenizer() names the key that it cannot read", () => {
  const { "tokenizer.ggml.tokens": tokens } = smallVocabulary() as { [key: string]: string[] };
  const refusals: Record<string, [value: unknown, message: string][]> = {
    model: [["llama", 'must be gpt2: it is "llama"'], [undefined, "must be gpt2: it is undefined"]],
    pre: [["qwen2", 'it is "qwen2"']],
    tokens: [
      [undefined, "must be an array of strings"],
      [[...tokens!.slice(1), 7], `tokens[${tokens!.length - 1}] must be a string: it is 7`],
      [[...tokens!, "hello"], `tokens[${tokens!.length}] must be unlike tokens[259]`],
    ],
    merges: [
      [undefined, "must be an array of strings"],
      [["h e", "he"], 'merges[1] must be two tokens: it is "he"'],
      [["h e l"], "merges[0] must be two tokens"],
      [["h z"], 'merges[0] must be of tokens, and there is no "hz": it is "h z"'],
    ],
    token_type: [
      ["1", "must be an array"],
      [[1, 1], `token_type.length must be ${tokens!.length}, one for each token: it is 2`],
      [tokens!.map(() => 7), "token_type[0] must be in 1..6: it is 7"],
    ],
    eos_token_id: [
      [tokens!.length, `must be in 0..${tokens!.length - 1}: it is ${tokens!.length}`],
      ["1", "must be in"],
    ],
    add_bos_token: [[1, "must be a boolean: it is 1"]],
  };
  for (const [name, cases] of Object.entries(refusals)) {
    for (const [value, message] of cases) {
      const values = { ...smallVocabulary(), [`tokenizer.ggml.${name}`]: value };
      const error = assertThrows(() => ggufTokenizer(values), TypeError, message);
      assertEquals(error.message.startsWith("Cannot read the tokenizer as tokenizer.ggml."), true);
    }
  }
});
