// Tables of blocks and of integers: the embedding and the head.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { Decoder } from "../../src/bitnet/decoder/decoder.ts";
import { blockElements } from "../../src/bitnet/decoder/table.ts";
import {
  type DecoderWeightsOptions,
  loadDecoderWeights,
} from "../../src/bitnet/decoder/weights.ts";
import { BLOCK_FORMATS, type BlockFormat } from "../../src/bitnet/files/block_formats.ts";
import type { ModelSource, WeightSource } from "../../src/bitnet/files/model_source.ts";
import { decodeBlocks } from "../../src/device/bitnet.ts";
import { fromTypedArray } from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { patternBytes } from "../support/temporary_file.ts";
import { type RandomModel, sourceOf } from "./random_model.ts";

const FORMATS = Object.keys(BLOCK_FORMATS) as BlockFormat[];
/** Places of the scales of a block, and a number whose sixteen bits they are. */
const SCALES = { q8_0: [0], q4_k: [0, 2], q6_k: [208] } as const;

/** Random blocks, with scales of about 2^-10. */
function randomBlocks(format: BlockFormat, count: number): Uint8Array<ArrayBuffer> {
  const { bytes: size } = BLOCK_FORMATS[format];
  const bytes = patternBytes(count * size, size);
  const view = new DataView(bytes.buffer);
  for (let block = 0; block < count; block++) {
    for (const at of SCALES[format]) {
      view.setFloat16(block * size + at, 2 ** -10 * (1 + block % 7 / 8), true);
    }
  }
  return bytes;
}

Deno.test("blockElements() gives the bits of decodeBlocks()", async () => {
  for (const format of FORMATS) {
    const bytes = randomBlocks(format, 9);
    const expected = decodeBlocks(bytes, format);
    using given = fromTypedArray(bytes, [bytes.length], { device });
    using elements = blockElements(given, format, [expected.length]);
    assertEquals(await elements.toArray(), expected, format);
  }
});

const model = (isHeadTied: boolean): RandomModel => ({
  linearClass: "autobitlinear",
  config: {
    ...{ architecture: "bitnet-b1.58", layers: 2, hiddenSize: 256, feedForwardSize: 128 },
    ...{ heads: 4, keyValueHeads: 2, headSize: 64, vocabularySize: 83, contextLength: 64 },
    ...{ epsilon: 1e-5, ropeTheta: 1e4, ropePairs: "halves", activation: "squaredRelu" },
    ...{ hasSubNorms: true, isHeadTied, beginToken: undefined, endTokens: [] },
  },
});

/** A model whose tables are other bytes. */
function withTables(source: ModelSource, format: WeightSource["format"], bytes: Uint8Array) {
  const weights = new Map(source.weights);
  for (const name of ["embedding", "head"] as const) {
    const own = weights.get(name);
    if (own === undefined) continue;
    weights.set(name, {
      ...{ ...own, format, byteLength: bytes.length },
      readInto: (target, offset) => {
        target.set(bytes.subarray(offset, offset + target.length));
        return Promise.resolve();
      },
    });
  }
  return { ...source, weights };
}

const TOKENS = [3, 1, 4, 1, 5, 9, 2, 6];

/** The types of both tables, and the logits of some tokens. */
async function run(source: ModelSource, options: DecoderWeightsOptions = {}) {
  using weights = await loadDecoderWeights(source, { device, ...options });
  using decoder = new Decoder(weights, { pages: 4 });
  using logits = decoder.forward([{ sequence: decoder.add(), tokens: TOKENS }], { logits: "all" });
  const types = [weights.embedding.values.dtype, weights.head.values.dtype];
  return { types, logits: await logits.toArray() };
}

/** The differences of logits, by root mean squares. */
function distance(logits: Float32Array, expected: Float32Array): number {
  const size = (values: Float32Array) => Math.sqrt(values.reduce((sum, it) => sum + it * it, 0));
  return size(logits.map((it, at) => it - expected[at]!)) / size(expected);
}

/**
 * An integer of 8 bits is off by at most 1 / 254 of the largest element of its row. In the head alone,
 * this stays as it is; in the embedding, layers add roundings of activations to other integers. The
 * bounds are twice what was measured.
 */
const HEAD = 0.02;
const BOTH = 0.18;

for (const isHeadTied of [true, false]) {
  const kind = isHeadTied ? "a tied head" : "a head of its own";
  Deno.test(`a decoder with ${kind} takes tables of blocks as floats and as integers`, async () => {
    const { vocabularySize, hiddenSize } = model(isHeadTied).config;
    const source = sourceOf(model(isHeadTied));
    for (const format of FORMATS) {
      const { elements } = BLOCK_FORMATS[format];
      const bytes = randomBlocks(format, vocabularySize * hiddenSize / elements);
      const values = new Uint8Array(decodeBlocks(bytes, format).buffer);
      const exact = await run(withTables(source, "float32", values));
      const blocks = withTables(source, format, bytes);
      const asFloats = await run(blocks, { dtype: "float32" });
      assertEquals(asFloats.types, ["float32", "float32"]);
      assertEquals(asFloats.logits, exact.logits, format);
      const asIntegers = await run(blocks);
      assertEquals(asIntegers.types, ["int8", "int8"]);
      const error = distance(asIntegers.logits, exact.logits);
      assert(error > 0 && error < BOTH, `${format}: ${error}`);
    }
  });

  Deno.test(`a decoder with ${kind} makes integers of floats by option`, async () => {
    const source = sourceOf(model(isHeadTied));
    const exact = await run(source);
    const integers = await run(source, { head: "int8" });
    assertEquals(integers.types, [isHeadTied ? "int8" : "float32", "int8"]);
    const error = distance(integers.logits, exact.logits);
    assert(error > 0 && error < (isHeadTied ? BOTH : HEAD), `${error}`);
  });
}

Deno.test("loadDecoderWeights() refuses other kinds of heads", async () => {
  const source = sourceOf(model(true));
  const message = "options.head must be float or int8";
  await assertRejects(() => run(source, { head: "int4" as never }), TypeError, message);
});
