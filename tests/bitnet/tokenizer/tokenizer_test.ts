import { assert, assertEquals, assertThrows } from "@std/assert";
import { DEFAULT_CHAT_TEMPLATE } from "../../../src/bitnet/tokenizer/chat_template.ts";
import { ggufTokenizer } from "../../../src/bitnet/tokenizer/gguf_tokenizer.ts";
import { ModelTokenizer, type TokenizerSource } from "../../../src/bitnet/tokenizer/tokenizer.ts";
import { BEGIN, smallVocabulary } from "./vocabularies.ts";

const SOURCE = ggufTokenizer(smallVocabulary());
const [END, TURN_END] = [BEGIN + 1, BEGIN + 2];

/** The small tokenizer with other values in tokenizer_config.json. */
function configured(config: Record<string, unknown>): ModelTokenizer {
  return new ModelTokenizer({ ...SOURCE, config: { ...SOURCE.config as object, ...config } });
}

/** The small tokenizer.json with other values. */
function changed(values: Record<string, unknown>): TokenizerSource {
  return { ...SOURCE, tokenizer: { ...SOURCE.tokenizer as object, ...values } };
}

const small = new ModelTokenizer(SOURCE);
const chat = [{ role: "user", content: " hello " }];

Deno.test("encode() merges bytes and adds special tokens when the model does", () => {
  const words = [small.idOf("hello")!, small.idOf("Ġworld")!];
  assertEquals(small.encode("hello world"), [BEGIN, ...words]);
  assertEquals(small.encode("hello world", { addSpecialTokens: false }), words);
  assertEquals(small.encode(""), [BEGIN]);
  assertEquals(small.encode("", { addSpecialTokens: false }), []);
  assertEquals(configured({ add_bos_token: false }).encode("hello"), [words[0]]);
  const ended = configured({ add_bos_token: false, add_eos_token: true });
  assertEquals(ended.encode("hello"), [words[0], END]);
});

Deno.test("encode() finds special tokens, and takes broken surrogates as U+FFFD", () => {
  const ids = small.encode("hello<|eot_id|>hello", { addSpecialTokens: false });
  const hello = small.idOf("hello")!;
  assertEquals(ids, [hello, TURN_END, hello]);
  const model = { type: "BPE", vocab: { a: 0, "\ufffd": 1 }, merges: [] };
  const whole = new ModelTokenizer({ ...changed({ model, pre_tokenizer: null }), config: {} });
  assertEquals(whole.encode("a\ud83ea"), [0, 1, 0]);
});

Deno.test("decode() inverts encode() and skips special tokens by default", () => {
  for (const text of ["", " ", "hello  world\n", "\ufeffé🦙\u0000\ufffd", "a<|eot_id|>b"]) {
    const ids = small.encode(text);
    const begin = "<|begin_of_text|>";
    assertEquals(small.decode(ids, { skipSpecialTokens: false }), begin + text);
    assertEquals(small.decode(ids), text.replace("<|eot_id|>", ""));
  }
  assert(small.isSpecial(TURN_END));
  assert(!small.isSpecial(0));
});

Deno.test("decode() takes a token outside the vocabulary for its own text", () => {
  const added_tokens = [{ id: 300, content: "é ☃", special: false }];
  const tokenizer = new ModelTokenizer({ ...changed({ added_tokens }), config: {} });
  assertEquals(tokenizer.vocabularySize, 301);
  assertEquals(tokenizer.decode(tokenizer.encode("hello é ☃!")), "hello é ☃!");
  // No token has this number, but the model may have room for it.
  assertEquals(tokenizer.decode([299]), "");
});

Deno.test("beginToken and endTokens name the tokens that bound texts", () => {
  assertEquals([small.beginToken, small.endTokens], [BEGIN, [END, TURN_END]]);
  const bare = new ModelTokenizer({ ...SOURCE, config: {} });
  assertEquals([bare.beginToken, bare.encode("")], [undefined, []]);
  assertEquals(configured({ eos_token: { content: "<|eot_id|>" } }).endTokens[0], TURN_END);
});

Deno.test("encodeChat() uses the template of BitNet 2B4T when the model has none", () => {
  const text = (tokenizer: ModelTokenizer, addGenerationPrompt = true) =>
    tokenizer.decode(tokenizer.encodeChat(chat, { addGenerationPrompt }), {
      skipSpecialTokens: false,
    });
  const expected = "<|begin_of_text|>User: hello<|eot_id|>Assistant: ";
  assertEquals(text(small), expected);
  assertEquals(text(small, false), expected.slice(0, -"Assistant: ".length));
  // What Microsoft's converter writes into GGUF files is no template of the model.
  const placeholder = "{{ bos_token }}Human: {{ messages[0].content }}\n\nBITNETAssistant: ";
  assertEquals(text(configured({ chat_template: placeholder })), expected);
});

Deno.test("encodeChat() begins with one bos whether or not the template has it", () => {
  for (const bos of ["", "{{ bos_token }}"]) {
    const tokenizer = configured({ chat_template: `${bos}{{ messages[0].content }}` });
    assertEquals(tokenizer.encodeChat(chat).filter((id) => id === BEGIN), [BEGIN]);
  }
  const unbegun = configured({ chat_template: "hello", add_bos_token: false });
  assertEquals(unbegun.encodeChat(chat), [small.idOf("hello")!]);
});

Deno.test("encodeChat() takes the default of several templates", () => {
  const chat_template = [
    { name: "tool_use", template: "{{ 1 / 0 }}" },
    { name: "default", template: "hello" },
  ];
  assertEquals(configured({ chat_template }).encodeChat(chat), [BEGIN, small.idOf("hello")!]);
});

Deno.test("encodeChat() refuses messages and templates with the reason", () => {
  const refusals: [messages: unknown, message: string][] = [
    [undefined, "messages must be a nonempty array: it is undefined"],
    [[], "messages must be a nonempty array: it is empty"],
    [["hello"], "messages[0] must be an object"],
    [[{ role: "user" }], "messages[0].content must be a string: it is undefined"],
    [[{ role: 1, content: "" }], "messages[0].role must be a string: it is 1"],
  ];
  for (const [messages, message] of refusals) {
    assertThrows(() => small.encodeChat(messages as typeof chat), TypeError, message);
  }
  const strict = configured({ chat_template: "{{ raise_exception('roles must alternate') }}" });
  assertThrows(() => strict.encodeChat(chat), Error, "refuses it: roles must alternate");
  assertThrows(() => configured({ chat_template: "{% if %}" }), Error, "must be valid Jinja");
  assertThrows(() => configured({ chat_template: 1 }), TypeError, "chat_template must be");
  assert(DEFAULT_CHAT_TEMPLATE.includes("Assistant"));
});

Deno.test("encode() splits words by an inverted pattern as by the pattern", () => {
  const split = { type: "Split", pattern: { Regex: "[0-9]+" }, behavior: "Isolated" };
  const bytes = { type: "ByteLevel", add_prefix_space: false, use_regex: false };
  const ids = [true, false].map((invert) => {
    const pre_tokenizer = { type: "Sequence", pretokenizers: [{ ...split, invert }, bytes] };
    return new ModelTokenizer(changed({ pre_tokenizer })).encode("hello1he2");
  });
  assertEquals(ids[0], ids[1]);
  assertEquals(small.decode(ids[0]!), "hello1he2");
});

Deno.test("streamDecoder() gives whole characters only", () => {
  const text = "é 🦙👩‍👩‍👧 hello\ufeff";
  const decoder = small.streamDecoder();
  const pieces = small.encode(text).map((id) => decoder.push(id));
  assertEquals(pieces.join("") + decoder.finish(), text);
  assert(pieces.includes(""), "the small vocabulary splits characters");
  assert(pieces.every((piece) => piece.isWellFormed() && !piece.includes("\ufffd")));
});

Deno.test("streamDecoder() ends a broken character with U+FFFD and starts again", () => {
  const [lead, ...others] = small.encode("🦙", { addSpecialTokens: false });
  const decoder = small.streamDecoder();
  assertEquals([decoder.push(lead!), decoder.finish()], ["", "\ufffd"]);
  assertEquals([decoder.push(lead!), decoder.push(small.idOf("h")!)], ["", "\ufffdh"]);
  assertEquals(decoder.push(others[0]!) + decoder.finish(), "\ufffd");
});

Deno.test("streamDecoder() strips the space that SentencePiece puts before a text", () => {
  const decoders: Record<string, unknown>[] = [
    { type: "Metaspace", replacement: "▁", prepend_scheme: "first" },
    {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
  ];
  const vocab = { "▁": 0, "▁a": 1, "<0xC3>": 2, "<0xA9>": 3 };
  const model = { type: "BPE", vocab, merges: [] };
  for (const [index, decoder] of decoders.entries()) {
    const tokenizer = new ModelTokenizer({
      ...changed({ model, decoder, added_tokens: [] }),
      config: {},
    });
    const stream = tokenizer.streamDecoder();
    assertEquals([1, 1, 0].map((id) => stream.push(id)), ["a", " a", " "]);
    assertEquals(stream.finish(), "");
    assertEquals([0, 1].map((id) => stream.push(id)), ["", " a"]);
    if (index === 1) assertEquals(tokenizer.decode([2, 3]), "é");
  }
});

Deno.test("ModelTokenizer names the place of what it cannot read", () => {
  const model = { type: "BPE", vocab: { a: 0 }, merges: [] };
  const split = { type: "Split", pattern: { Regex: "(" }, invert: false };
  const refusals: [values: Record<string, unknown>, message: string][] = [
    [{ model: null }, "model must be an object: it is null"],
    [{ model: { ...model, vocab: 1 } }, "model.vocab must be an object: it is 1"],
    [{ model: { ...model, vocab: null } }, "model.vocab must be an object: it is null"],
    [{ model: { ...model, vocab: { a: -1 } } }, 'model.vocab["a"] must be a token\'s number'],
    [{ model: { ...model, vocab: { a: 2 ** 32 } } }, 'model.vocab["a"] must be a token\'s number'],
    [{ model: { ...model, merges: "a b" } }, 'model.merges must be an array: it is "a b"'],
    [{ model: { ...model, type: "Unigram" } }, 'model.type must be BPE: it is "Unigram"'],
    [
      { model: { ...model, merges: ["a a"] } },
      'model.merges[0] must be of tokens, and there is no "aa"',
    ],
    [{ model: { ...model, merges: [["a", 1]] } }, "model.merges[0] must be two tokens"],
    [{ model: { ...model, merges: [7] } }, "model.merges[0] must be two tokens: it is 7"],
    [{ added_tokens: {} }, "added_tokens must be an array"],
    [{ added_tokens: [{ id: 1.5, content: "a" }] }, "added_tokens[0].id must be"],
    [{ added_tokens: [{ id: 1, content: "" }] }, "added_tokens[0].content must be"],
    [{ decoder: null }, "decoder must be an object: it is null"],
    [{ decoder: { type: "CTC" } }, "decoder.type must be"],
    [{ decoder: { type: "Sequence" } }, "decoder.decoders must be an array"],
    [
      { decoder: { type: "Sequence", decoders: [{ type: "Replace", pattern: { Regex: "a" } }] } },
      "decoder.decoders[0].pattern must be",
    ],
    [{ pre_tokenizer: { ...split, behavior: "Isolated" } }, "tokenizer.json must be supported"],
    [{ pre_tokenizer: split }, "pre_tokenizer.behavior must be Isolated or Removed"],
    [{ pre_tokenizer: { type: "Split" } }, "pre_tokenizer.pattern must be { Regex } or { String }"],
    [{ pre_tokenizer: 1 }, "pre_tokenizer must be an object"],
    [{ pre_tokenizer: { type: "Sequence" } }, "pre_tokenizer.pretokenizers must be an array"],
    [
      { added_tokens: [{ id: 1, content: "a", single_word: true }] },
      "[0].single_word must be false",
    ],
  ];
  for (const [values, message] of refusals) {
    assertThrows(
      () => new ModelTokenizer(changed(values)),
      TypeError,
      message,
      JSON.stringify(values),
    );
  }
  const missing = { bos_token: "<s>", add_bos_token: true };
  assertThrows(() => configured(missing), TypeError, 'bos_token must be a token: it is "<s>"');
  assertThrows(() => configured({ eos_token: 3 }), TypeError, "eos_token must be a token");
  assertThrows(() => new ModelTokenizer(undefined!), TypeError, "source must be an object");
});

Deno.test("ModelTokenizer refuses arguments that are no texts or tokens", () => {
  assertThrows(() => small.encode(1 as unknown as string), TypeError, "text must be a string");
  assertThrows(() => small.encode("", { bos: true } as object), TypeError, 'there is "bos"');
  for (const id of [-1, 0.5, TURN_END + 1, NaN]) {
    assertThrows(() => small.decode([id]), RangeError, `must be in 0..${TURN_END}: there is ${id}`);
  }
});
