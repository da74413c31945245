/**
 * The dimensions and constants of a decoder.
 *
 * @module
 */

/**
 * The dimensions and constants of a BitNet decoder, as its file gives them.
 * @category Files
 */
export interface ModelConfig {
  /** The graph, by the names of GGUF files. */
  readonly architecture: "bitnet-b1.58" | "bitnet" | "bitnet-25";
  /** The number of layers. */
  readonly layers: number;
  /** The length of a token's hidden state. */
  readonly hiddenSize: number;
  /** The length of the hidden state inside a feed-forward network. */
  readonly feedForwardSize: number;
  /** The number of query heads. */
  readonly heads: number;
  /** The number of key and value heads, which divides `heads`. */
  readonly keyValueHeads: number;
  /** The length of a head's vectors. */
  readonly headSize: number;
  /** The number of tokens. */
  readonly vocabularySize: number;
  /** The largest number of tokens of a sequence. */
  readonly contextLength: number;
  /** The constant that RMS norms add to the mean of squares. */
  readonly epsilon: number;
  /** The base of the rotary embedding's frequencies. */
  readonly ropeTheta: number;
  /** Pairs of the rotary embedding: (j, j + half) or (2j, 2j + 1). */
  readonly ropePairs: "halves" | "interleaved";
  /** The activation of the gate. */
  readonly activation: "squaredRelu" | "silu";
  /** Whether each layer has norms before its output projections. */
  readonly hasSubNorms: boolean;
  /** Whether the head is the embedding. */
  readonly isHeadTied: boolean;
  /** The token that begins a sequence, if there is one. */
  readonly beginToken: number | undefined;
  /** The tokens that end a sequence. */
  readonly endTokens: readonly number[];
}
