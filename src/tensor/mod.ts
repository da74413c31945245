/**
 * Tensors on a GPU, or on the CPU where there is none. Names and semantics are those of the Python
 * array API standard, in camelCase.
 *
 * @example
 * ```ts
 * import { tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, 2], [3, 4]]);
 * using y = x.multiply(x).sum({ axis: 0 });
 * console.log(await y.toNested()); // [ 10, 20 ]
 * ```
 *
 * @module
 */

import { dense } from "./elementwise_kernel.ts";
import * as elementwise from "./elementwise.ts";
import { take } from "./indexing.ts";
import { matmul } from "./matmul/matmul.ts";
import * as reductions from "./reductions.ts";
import { logSoftmax, softmax } from "./softmax.ts";
import { argsort, cumulativeSum, sort } from "./sorting.ts";
import { selectElements } from "./selection/select.ts";
import { setElements } from "./selection/set.ts";
import { provideOperations } from "./tensor_methods.ts";

provideOperations({
  ...elementwise,
  ...reductions,
  argsort,
  cumulativeSum,
  dense,
  logSoftmax,
  matmul,
  selectElements,
  setElements,
  softmax,
  sort,
  take,
});

export { type Nested, Tensor } from "./tensor.ts";
export type { TensorMethods } from "./tensor_methods.ts";
export type { Operand, TensorOptions } from "./kit/checks.ts";
export type { TensorDevice } from "./kit/placement.ts";
export type { Shape, Slice } from "./kit/layout.ts";
export type { Selector } from "./selection/selection.ts";
export type {
  Absorbed,
  ElementValue,
  FirstAbove,
  FloatResult,
  Promote,
  SumResult,
} from "./kit/promotion.ts";
export {
  arange,
  type CreationOptions,
  fromBuffer,
  fromTypedArray,
  full,
  linspace,
  ones,
  tensor,
  zeros,
} from "./creation.ts";
export { asarray, empty, emptyLike, fullLike, onesLike, zerosLike } from "./creation_like.ts";
export * from "./elementwise.ts";
export {
  all,
  any,
  argmax,
  argmin,
  countNonzero,
  max,
  mean,
  type MeanResult,
  min,
  type PlaceOptions,
  prod,
  type ReduceOptions,
  std,
  sum,
  type SumOptions,
  variance,
  variance as var,
  type VarianceOptions,
} from "./reductions.ts";
export { fuse, type Fused, setKernelFusion } from "./fusion.ts";
export { arrayText } from "./kit/array_text.ts";
export { tidy } from "./scope.ts";
export { loadNpy, NPY_DESCRS, type NpyArray, readNpy, saveNpy, writeNpy } from "./files/npy.ts";
export { loadNpz, saveNpz } from "./files/npz.ts";
export { loadSafetensors, saveSafetensors } from "./files/safetensors.ts";
export { inChunks } from "./chunks.ts";
export {
  choice,
  type ChoiceOptions,
  dropout,
  normal,
  permutation,
  randint,
  type RandomOptions,
  type SampleOptions,
  setSeed,
  uniform,
} from "./random.ts";
export { TensorFileError } from "./files/tensor_file.ts";
export {
  type AnyTensor,
  type AxisOptions,
  type CommonType,
  concat,
  type DiagonalOptions,
  diff,
  type DiffOptions,
  eye,
  flip,
  pad,
  repeat,
  roll,
  split,
  stack,
  tril,
  triu,
} from "./manipulation.ts";
export {
  broadcastArrays,
  broadcastTo,
  expandDims,
  matrixTranspose,
  meshgrid,
  type MeshgridOptions,
  moveaxis,
  permuteDims,
  reshape,
  squeeze,
  tile,
  unstack,
  type ViewsOf,
} from "./rearrangement.ts";
export {
  canCast,
  type DTypeKind,
  finfo,
  type FloatInformation,
  iinfo,
  type IntegerInformation,
  isdtype,
  resultType,
  type Typed,
} from "./data_types.ts";
export {
  embedding,
  type Indices,
  scatterAdd,
  take,
  takeAlongAxis,
  type TakeOptions,
} from "./indexing.ts";
export {
  argsort,
  type CumulativeOptions,
  cumulativeProd,
  cumulativeSum,
  nonzero,
  searchsorted,
  sort,
  type SortOptions,
  topk,
} from "./sorting.ts";
export { histogram } from "./statistics/histogram.ts";
export { percentile, quantile, type QuantileOptions } from "./statistics/quantile.ts";
export {
  unique,
  type UniqueAll,
  uniqueAll,
  type UniqueCounts,
  uniqueCounts,
  type UniqueInverse,
  uniqueInverse,
  uniqueValues,
} from "./statistics/unique.ts";
export { matmulBatch } from "./matmul/batch.ts";
export { einsum } from "./linear_algebra/einsum.ts";
export {
  matrixNorm,
  type MatrixNormOptions,
  norm,
  type NormOptions,
} from "./linear_algebra/norm.ts";
export { outer, tensordot, type TensordotOptions, vecdot } from "./contraction.ts";
export { explainMatmul, matmul, type MatmulOptions } from "./matmul/matmul.ts";
export { type NarrowPrecision, type PrecisionMode, setPrecision } from "./kit/precision.ts";
export {
  layerNorm,
  layerNormBackward,
  type LayerNormOptions,
  type Normalized,
  type QuantizedDType,
  rmsNorm,
  rmsNormBackward,
  type RmsNormOptions,
} from "./normalization.ts";
export type { RowDType } from "./row_steps.ts";
export {
  crossEntropy,
  crossEntropyBackward,
  type CrossEntropyOptions,
  logSoftmax,
  logSoftmaxBackward,
  softmax,
  softmaxBackward,
  type SoftmaxOptions,
} from "./softmax.ts";
export {
  attention,
  type AttentionDType,
  type AttentionOptions,
  type AttentionResult,
  type AttentionWindowOptions,
  explainAttention,
} from "./attention/attention.ts";
export { attentionVariableLength } from "./attention/variable_length.ts";
export { decodeAttention, PagedCache, type PagedCacheOptions } from "./attention/paged_cache.ts";
export { rotaryEmbedding, type RotaryOptions } from "./attention/rotary.ts";
