// Tokens of mixed text beside those of transformers, where Python has it, and of another library.

import { assert, assertEquals } from "@std/assert";
import llama3 from "llama3-tokenizer-js";
import { ggufTokenizer } from "../../../src/bitnet/tokenizer/gguf_tokenizer.ts";
import { ModelTokenizer, type TokenizerSource } from "../../../src/bitnet/tokenizer/tokenizer.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { python } from "../../support/python.ts";
import { mixedLines } from "./mixed_text.ts";
import { llama3Vocabulary } from "./vocabularies.ts";

const LINES = mixedLines(10_000);

const MESSAGES = [
  { role: "system", content: "Be brief.\n" },
  { role: "user", content: "  What's 2 + 2? 🦙" },
  { role: "assistant", content: "4" },
  { role: "user", content: "<|eot_id|> and now?" },
];

/** Templates that use what real ones use. */
const TEMPLATES = [
  // LLaMA 3.
  "{% set loop_messages = messages %}{% for message in loop_messages %}" +
  "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ " +
  "message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}" +
  "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}" +
  "{% endif %}",
  // Blocks on lines of their own, whose line breaks Jinja drops.
  "{{- bos_token }}\n{%- if messages[0].role == 'system' %}\n{%- set rest = messages[1:] %}\n" +
  "{{- messages[0].content | trim }}\n{%- else %}{% set rest = messages %}{% endif %}\n" +
  "{% for message in rest %}\n    {% if loop.last %}\n[{{ loop.index }}/{{ rest | length }}]\n" +
  "    {% endif %}\n{{ message.role | upper }}: {{ message.content | tojson }}{{ eos_token }}\n" +
  "{% endfor %}",
];

/** The tokens of the lines in one vocabulary, the texts of the tokens, and the chats. */
interface Reference {
  readonly ids: readonly number[][];
  readonly texts: readonly string[];
  readonly chats: readonly number[][];
}

interface References {
  readonly llama3: Reference;
  /** A vocabulary of SentencePiece's kind, with tokens for bytes, trained on the lines. */
  readonly bytes: Reference & { readonly tokenizer: unknown; readonly config: unknown };
  /** A small byte-level vocabulary with GPT-2's pattern, trained on the lines. */
  readonly gpt2: Reference & { readonly tokenizer: unknown; readonly config: unknown };
}

const PROGRAM = `import json, sys
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

folder = sys.argv[1]
given = json.load(open(folder + "/given.json"))
lines = given["lines"]

def reference(path, config, templates=[]):
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=path, **config)
    ids = [encoding.ids for encoding in tokenizer.backend_tokenizer.encode_batch(lines)]
    texts = tokenizer.batch_decode(ids[:2000], skip_special_tokens=True)
    chats = [tokenizer.apply_chat_template(given["messages"], chat_template=template,
        add_generation_prompt=True, tokenize=True, return_dict=False) for template in templates]
    return {"ids": ids, "texts": texts, "chats": chats}

def trained(name, tokenizer, trainer, config):
    tokenizer.train_from_iterator(lines[:2000], trainer)
    path = folder + "/" + name + ".json"
    tokenizer.save(path)
    return reference(path, config) | {"tokenizer": json.load(open(path)), "config": config}

quiet = {"show_progress": False, "special_tokens": ["<unk>", "<s>", "</s>"]}
byte_tokens = ["<0x%02X>" % byte for byte in range(256)]
bytes_model = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
bytes_model.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
bytes_model.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
    decoders.Fuse(), decoders.Strip(" ", 1, 0)])
bytes_trainer = trainers.BpeTrainer(vocab_size=1500, limit_alphabet=200, show_progress=False,
    special_tokens=quiet["special_tokens"] + byte_tokens)
gpt2_model = Tokenizer(models.BPE())
gpt2_model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
gpt2_model.decoder = decoders.ByteLevel()
gpt2_trainer = trainers.BpeTrainer(vocab_size=2000,
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **quiet)
print(json.dumps({
    "llama3": reference(folder + "/llama3.json", given["config"], given["templates"]),
    "bytes": trained("bytes", bytes_model, bytes_trainer,
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True}),
    "gpt2": trained("gpt2", gpt2_model, gpt2_trainer,
        {"bos_token": "<s>", "eos_token": "</s>", "add_eos_token": True}),
}))`;

/** The references, computed once for all tests; undefined where transformers is missing. */
let references: Promise<References | undefined> | undefined;

const LLAMA3: TokenizerSource = ggufTokenizer(llama3Vocabulary());

async function computeReferences(): Promise<References | undefined> {
  const { chat_template: _, ...config } = LLAMA3.config as Record<string, unknown>;
  using folder = TemporaryDirectory.of({
    "llama3.json": JSON.stringify({ version: "1.0", ...LLAMA3.tokenizer as object }),
    "given.json": JSON.stringify({
      ...{ lines: LINES, messages: MESSAGES, templates: TEMPLATES, config },
    }),
  });
  const output = await python("transformers", PROGRAM, folder.path);
  return output === undefined ? undefined : JSON.parse(output);
}

function assertSame(tokenizer: ModelTokenizer, { ids, texts }: Reference): void {
  assertEquals(ids.length, LINES.length);
  const wrong = LINES.findIndex((line, index) =>
    tokenizer.encode(line).join() !== ids[index]!.join()
  );
  assert(
    wrong < 0,
    `tokens of ${JSON.stringify(LINES[wrong])} are ${tokenizer.encode(LINES[wrong] ?? "")}, not ${
      ids[wrong]
    }`,
  );
  texts.forEach((text, index) => assertEquals(tokenizer.decode(ids[index]!), text));
}

Deno.test("encode() gives the tokens of llama3-tokenizer-js with its vocabulary", () => {
  // That library merges bytes also where a whole word is a token, and splits at other spaces.
  const { model, ...rest } = LLAMA3.tokenizer as { readonly model: object };
  const tokenizer = new ModelTokenizer({
    tokenizer: { ...rest, model: { ...model, ignore_merges: false } },
    config: LLAMA3.config,
  });
  const lines = LINES.slice(0, 2000).filter((line) => !/[\u0085\ufeff]/.test(line));
  for (const line of lines) {
    assertEquals(tokenizer.encode(line), llama3.encode(line, { bos: true, eos: false }), line);
  }
});

Deno.test("ModelTokenizer gives the tokens and texts of transformers for LLaMA 3", async () => {
  const reference = (await (references ??= computeReferences()))?.llama3;
  if (reference === undefined) return;
  assertSame(new ModelTokenizer(LLAMA3), reference);
  TEMPLATES.forEach((chat_template, index) => {
    const config = { ...LLAMA3.config as object, chat_template };
    const tokenizer = new ModelTokenizer({ tokenizer: LLAMA3.tokenizer, config });
    assertEquals(tokenizer.encodeChat(MESSAGES), reference.chats[index]);
  });
});

Deno.test("ModelTokenizer gives those of a tokenizer.json with tokens for bytes", async () => {
  const reference = (await (references ??= computeReferences()))?.bytes;
  if (reference !== undefined) assertSame(new ModelTokenizer(reference), reference);
});

Deno.test("ModelTokenizer gives those of a tokenizer.json like GPT-2's", async () => {
  const reference = (await (references ??= computeReferences()))?.gpt2;
  if (reference !== undefined) assertSame(new ModelTokenizer(reference), reference);
});
