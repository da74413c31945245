/**
 * cuBLASLt, which the native library opens.
 *
 * @module
 */

import { call, callStatus, check, type FailureContext, statusError } from "../check.ts";
import type { NativeLibrary } from "../library.ts";

/** `GS_ERROR_UNSUPPORTED` and `GS_ERROR_NOT_FOUND`. */
const [UNSUPPORTED, NOT_FOUND] = [-7, -9] as const;

/** Bytes for a path, or for a message of the loader. */
const TEXT_CAPACITY = 4096;

/** `GS_CUBLASLT_ALGORITHM_BYTES` and `GS_CUBLASLT_ALGORITHMS`. */
const ALGORITHM_BYTES = 64;
const ALGORITHMS = 8;

/**
 * Numbers of `cublasLt.h`, `cublas_api.h` and `library_types.h` as of the Python package
 * `nvidia-cublas` 13.1.1.3, unchanged since CUDA 11.8. A test compares them with the headers.
 */
export const CUBLASLT = {
  CUDA_R_32F: 0,
  CUDA_R_64F: 1,
  CUDA_R_16F: 2,
  CUDA_R_8I: 3,
  CUDA_R_32I: 10,
  CUDA_R_16BF: 14,
  CUDA_R_8F_E4M3: 28,
  CUDA_R_8F_E5M2: 29,
  CUBLAS_COMPUTE_32F: 68,
  CUBLAS_COMPUTE_64F: 70,
  CUBLAS_COMPUTE_32I: 72,
  CUBLASLT_EPILOGUE_DEFAULT: 1,
  CUBLASLT_EPILOGUE_RELU: 2,
  CUBLASLT_EPILOGUE_BIAS: 4,
  CUBLASLT_EPILOGUE_GELU: 32,
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: 2,
} as const;

/** A matrix as it is stored by columns. */
export interface CublasLtMatrix {
  /** Its `cudaDataType`. */
  readonly type: number;
  readonly rows: number;
  readonly columns: number;
  /** Elements from one column to the next. */
  readonly leading: number;
  /** Elements from one product's matrix to the next. */
  readonly stride: number;
  /** Of its address, in bytes. */
  readonly alignment: number;
}

/** D = epilogue(alpha · A · B + beta · C), where A and B may be transposed. */
export interface CublasLtProduct {
  readonly computeType: number;
  readonly scaleType: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly epilogue: number;
  readonly biasType: number;
  readonly biasAlignment: number;
  readonly products: number;
  readonly a: CublasLtMatrix;
  readonly b: CublasLtMatrix;
  readonly c: CublasLtMatrix;
  readonly d: CublasLtMatrix;
}

/** The numbers of a product, in the order of `gridstride_kernel.h`. */
export function productSlots(
  product: CublasLtProduct,
  workspaceBytes: number,
): Float64Array<ArrayBuffer> {
  const { a, b, c, d } = product;
  return Float64Array.of(
    product.computeType,
    product.scaleType,
    Number(product.transposeA),
    Number(product.transposeB),
    product.epilogue,
    product.biasType,
    product.biasAlignment,
    product.products,
    workspaceBytes,
    // Parts of a sum are never added up in the result's type.
    CUBLASLT.CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
    ...[a, b, c, d].flatMap((matrix) => [
      matrix.type,
      matrix.rows,
      matrix.columns,
      matrix.leading,
      matrix.stride,
      matrix.alignment,
    ]),
  );
}

/**
 * Opens cuBLASLt. Once it is open in any isolate of the process, the result is that library.
 *
 * @param path The absolute path of the library, or a name that the system searches.
 * @returns Its path and version, such as 130101; or the loader's reason for a failure.
 */
export function openCublasLt(
  library: NativeLibrary,
  path: string,
): { readonly path: string; readonly version: number } | { readonly problem: string } {
  // NUL characters would cut off a path.
  if (path.includes("\0")) return { problem: "its path has a NUL character" };
  const bytes = new Uint8Array(TEXT_CAPACITY);
  const name = new TextEncoder().encode(`${path}\0`);
  const action = `open ${path}`;
  const status = callStatus(library, "gs_cublaslt_open", action, name, bytes, TEXT_CAPACITY);
  const text = new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  if (status === NOT_FOUND || status === UNSUPPORTED) return { problem: text };
  check(library, status, action);
  return { path: text, version: library.result[0]! };
}

/** An algorithm for a product. */
export interface CublasLtAlgorithm {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly workspaceBytes: number;
}

/**
 * Makes the descriptors of a product.
 *
 * @param slots The numbers of the product, by {@linkcode productSlots}.
 * @returns Their handle, for {@linkcode destroyProduct}.
 */
export function prepareProduct(
  library: NativeLibrary,
  device: number,
  slots: Float64Array<ArrayBuffer>,
): number {
  const context = { action: "describe a product to cuBLASLt", device };
  return call(library, "gs_cublaslt_prepare", context, device, slots)[0]!;
}

/** Destroys the descriptors of a product. */
export function destroyProduct(library: NativeLibrary, product: number): void {
  call(library, "gs_cublaslt_destroy", { action: "forget a product of cuBLASLt" }, product);
}

/**
 * The algorithms that cuBLASLt proposes for a product, the best first; none if it does not support
 * the product.
 */
export function cublasLtAlgorithms(
  library: NativeLibrary,
  device: number,
  product: number,
): CublasLtAlgorithm[] {
  const context = { action: "choose an algorithm of cuBLASLt", device };
  const bytes = new Uint8Array(ALGORITHMS * ALGORITHM_BYTES);
  const results = call(
    library,
    "gs_cublaslt_algorithms",
    context,
    product,
    bytes,
    ALGORITHMS,
  );
  return Array.from({ length: results[0]! }, (_, index) => ({
    bytes: bytes.slice(index * ALGORITHM_BYTES, (index + 1) * ALGORITHM_BYTES),
    workspaceBytes: results[1 + index]!,
  }));
}

/**
 * Enqueues a product.
 *
 * @param place The action and the device, for errors.
 * @param product The handle of its descriptors.
 * @param stream The handle of a stream of the device.
 * @param operands The addresses of A, B, C, D and the bias, alpha, beta, the address of the workspace
 * and its bytes.
 */
export function cublasLtMatmul(
  library: NativeLibrary,
  place: FailureContext,
  product: number,
  stream: number,
  { bytes }: CublasLtAlgorithm,
  operands: Float64Array<ArrayBuffer>,
): void {
  // Handles are integers of 32 bits: nothing is left to check.
  const status = library.symbols.gs_cublaslt_matmul(product, stream, bytes, operands);
  if (status !== 0) throw statusError(library, status, place);
}
