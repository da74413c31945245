/**
 * The kernel headers of `csrc/kernels/tensor/`, by the paths under which they include each other.
 *
 * @module
 */

import ATTENTION from "../../../../csrc/kernels/tensor/attention/attention.cuh" with {
  type: "text",
};
import ATTENTION_DECODE_MMA from "../../../../csrc/kernels/tensor/attention/attention_decode_mma.cuh" with {
  type: "text",
};
import ATTENTION_DECODE_THREADS from "../../../../csrc/kernels/tensor/attention/attention_decode_threads.cuh" with {
  type: "text",
};
import ATTENTION_LOOPS from "../../../../csrc/kernels/tensor/attention/attention_loops.cuh" with {
  type: "text",
};
import ATTENTION_MMA from "../../../../csrc/kernels/tensor/attention/attention_mma.cuh" with {
  type: "text",
};
import ATTENTION_THREADS from "../../../../csrc/kernels/tensor/attention/attention_threads.cuh" with {
  type: "text",
};
import ATTENTION_TILES from "../../../../csrc/kernels/tensor/attention/attention_tiles.cuh" with {
  type: "text",
};
import ELEMENT from "../../../../csrc/kernels/tensor/element.cuh" with { type: "text" };
import ELEMENT_LOOPS from "../../../../csrc/kernels/tensor/element_loops.cuh" with { type: "text" };
import ELEMENT_THREADS from "../../../../csrc/kernels/tensor/element_threads.cuh" with {
  type: "text",
};
import INDEX from "../../../../csrc/kernels/tensor/index.cuh" with { type: "text" };
import INDEX_LOOPS from "../../../../csrc/kernels/tensor/index_loops.cuh" with { type: "text" };
import INDEX_THREADS from "../../../../csrc/kernels/tensor/index_threads.cuh" with { type: "text" };
import MAP from "../../../../csrc/kernels/tensor/map.cuh" with { type: "text" };
import MAP_LOOPS from "../../../../csrc/kernels/tensor/map_loops.cuh" with { type: "text" };
import MAP_THREADS from "../../../../csrc/kernels/tensor/map_threads.cuh" with { type: "text" };
import BYTE_PANELS from "../../../../csrc/kernels/tensor/matmul/byte_panels.cuh" with {
  type: "text",
};
import MATMUL from "../../../../csrc/kernels/tensor/matmul/matmul.cuh" with { type: "text" };
import MATMUL_LOOPS from "../../../../csrc/kernels/tensor/matmul/matmul_loops.cuh" with {
  type: "text",
};
import MATMUL_MMA from "../../../../csrc/kernels/tensor/matmul/matmul_mma.cuh" with {
  type: "text",
};
import MATMUL_MMA_STAGED from "../../../../csrc/kernels/tensor/matmul/matmul_mma_staged.cuh" with {
  type: "text",
};
import MATMUL_ROWS_THREADS from "../../../../csrc/kernels/tensor/matmul/matmul_rows_threads.cuh" with {
  type: "text",
};
import MATMUL_THREADS from "../../../../csrc/kernels/tensor/matmul/matmul_threads.cuh" with {
  type: "text",
};
import TENSOR_CORE from "../../../../csrc/kernels/tensor/matmul/tensor_core.cuh" with {
  type: "text",
};
import PACKET from "../../../../csrc/kernels/tensor/packet.cuh" with { type: "text" };
import RANDOM from "../../../../csrc/kernels/tensor/random.cuh" with { type: "text" };
import REDUCE from "../../../../csrc/kernels/tensor/reduce.cuh" with { type: "text" };
import REDUCE_LOOPS from "../../../../csrc/kernels/tensor/reduce_loops.cuh" with { type: "text" };
import REDUCE_THREADS from "../../../../csrc/kernels/tensor/reduce_threads.cuh" with {
  type: "text",
};
import SORT from "../../../../csrc/kernels/tensor/sort.cuh" with { type: "text" };
import SORT_LOOPS from "../../../../csrc/kernels/tensor/sort_loops.cuh" with { type: "text" };
import SORT_THREADS from "../../../../csrc/kernels/tensor/sort_threads.cuh" with { type: "text" };
import VECTORS from "../../../../csrc/kernels/tensor/vectors.cuh" with { type: "text" };
import WARP from "../../../../csrc/kernels/tensor/warp.cuh" with { type: "text" };

/** Paths below `csrc/`, and texts. */
export const TENSOR_HEADERS: Readonly<Record<string, string>> = {
  "kernels/tensor/attention/attention.cuh": ATTENTION,
  "kernels/tensor/attention/attention_decode_mma.cuh": ATTENTION_DECODE_MMA,
  "kernels/tensor/attention/attention_decode_threads.cuh": ATTENTION_DECODE_THREADS,
  "kernels/tensor/attention/attention_loops.cuh": ATTENTION_LOOPS,
  "kernels/tensor/attention/attention_mma.cuh": ATTENTION_MMA,
  "kernels/tensor/attention/attention_threads.cuh": ATTENTION_THREADS,
  "kernels/tensor/attention/attention_tiles.cuh": ATTENTION_TILES,
  "kernels/tensor/element.cuh": ELEMENT,
  "kernels/tensor/element_loops.cuh": ELEMENT_LOOPS,
  "kernels/tensor/element_threads.cuh": ELEMENT_THREADS,
  "kernels/tensor/index.cuh": INDEX,
  "kernels/tensor/index_loops.cuh": INDEX_LOOPS,
  "kernels/tensor/index_threads.cuh": INDEX_THREADS,
  "kernels/tensor/map.cuh": MAP,
  "kernels/tensor/map_loops.cuh": MAP_LOOPS,
  "kernels/tensor/map_threads.cuh": MAP_THREADS,
  "kernels/tensor/matmul/byte_panels.cuh": BYTE_PANELS,
  "kernels/tensor/matmul/matmul.cuh": MATMUL,
  "kernels/tensor/matmul/matmul_loops.cuh": MATMUL_LOOPS,
  "kernels/tensor/matmul/matmul_mma.cuh": MATMUL_MMA,
  "kernels/tensor/matmul/matmul_mma_staged.cuh": MATMUL_MMA_STAGED,
  "kernels/tensor/matmul/matmul_rows_threads.cuh": MATMUL_ROWS_THREADS,
  "kernels/tensor/matmul/matmul_threads.cuh": MATMUL_THREADS,
  "kernels/tensor/matmul/tensor_core.cuh": TENSOR_CORE,
  "kernels/tensor/packet.cuh": PACKET,
  "kernels/tensor/random.cuh": RANDOM,
  "kernels/tensor/reduce.cuh": REDUCE,
  "kernels/tensor/reduce_loops.cuh": REDUCE_LOOPS,
  "kernels/tensor/reduce_threads.cuh": REDUCE_THREADS,
  "kernels/tensor/sort.cuh": SORT,
  "kernels/tensor/sort_loops.cuh": SORT_LOOPS,
  "kernels/tensor/sort_threads.cuh": SORT_THREADS,
  "kernels/tensor/vectors.cuh": VECTORS,
  "kernels/tensor/warp.cuh": WARP,
};
