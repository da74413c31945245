/**
 * What the functions for modules, for NVRTC and for cuBLASLt are called with.
 *
 * @module
 */

import fc from "fast-check";
import { cString } from "../../src/ffi/check.ts";
import {
  type AbiCall,
  device,
  handle,
  int32,
  lent,
  passes,
  passesList,
  result,
  text,
  type Values,
} from "./abi_values.ts";
import { type AbiStage, STORE_PARAMETERS } from "./abi_stage.ts";
import { Deferred } from "./deferred.ts";

const module = handle("module");
const program = handle("program");

/** A text that is seldom none at all. */
function textOf(...choices: readonly string[]): Values {
  const given = fc.constantFrom(...choices).map((name) =>
    new Deferred<AbiStage>(`<text ${JSON.stringify(name)}>`, () => cString(name))
  );
  return fc.oneof({ weight: 15, arbitrary: given }, { weight: 1, arbitrary: fc.constant(null) });
}

/** Machine code and its size: whole, cut off, or as large as nothing is. */
const image = fc.constantFrom(1, 1, 1, 1, 0.5, 0.99, 0, -1, NaN).map((part) => [
  new Deferred<AbiStage>("<machine code>", (stage) => stage.image),
  new Deferred<AbiStage>(
    `<${part} of its bytes>`,
    ({ image }) => part < 0 ? part : Math.floor(part * image.byteLength),
  ),
]);

/** The same for memory that holds none. */
const noImage = fc.constantFrom(1, 4, 64, 4096, 0.5, 2 ** 53).map((bytes) => [lent(bytes), bytes]);

/** Not that of the kernel with a duration as argument. */
const kernelName = textOf("store_int", "store_int", "count", "none", "", "\u{fffd}");

/**
 * Kinds and sizes, and how many parameters they are for. Of those that agree with the kernel's sizes
 * only what passes a pointer as it is: kernels of the host device run in this process.
 */
const parameters = fc.constantFrom<readonly (readonly number[])[]>(
  STORE_PARAMETERS,
  STORE_PARAMETERS,
  [[1, 4]],
  [],
  [[1, 8], [7, 8]],
  [[9, 4], [7, 8]],
  [[8, 0], [7, 8]],
  [[8, 4096], [8, 4096]],
  [[1, 4], [7, 8], [1, 4]],
).chain((list) => {
  const numbers = new Deferred<AbiStage>(
    `<parameters ${JSON.stringify(list)}>`,
    () => Int32Array.from(list.flat()),
  );
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant([numbers, list.length]) },
    fc.constantFrom([null, list.length], [numbers, -1], [numbers, 65], [numbers, 2 ** 31 - 1]),
  );
});

/** Paths of no library. */
const libraryPath = textOf("", "/", "/no/such/library", "no such library");

/** Texts behind one another, their bytes, and how many of each sort there are. */
const programTexts = fc.tuple(
  fc.constantFrom("a\0b.cu\0", "a\0b.cu\0-O\0c.h\0d\0e\0", "a\0b.cu", "\0", ""),
  fc.oneof(fc.constantFrom([0, 0, 0], [1, 1, 1]), fc.tuple(int32, int32, int32)),
  fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.constantFrom(-100, -1, -0.5)),
).map(([texts, counts, missing]) => {
  const bytes = new TextEncoder().encode(texts);
  return [
    new Deferred<AbiStage>(`<texts ${JSON.stringify(texts)}>`, () => bytes.slice()),
    bytes.length + missing,
    ...counts,
  ];
});

const architectures = fc.constantFrom(0, 1, 64).map((capacity) => [
  new Deferred<AbiStage>(`<${capacity} architectures>`, () => new Int32Array(capacity)),
  capacity,
]);

const output = fc.constantFrom(0, 1, 4096, -1, 0.5, NaN).map((bytes) => [lent(bytes), bytes]);

/** Numbers that are refused: a library of another test may be open, and it trusts addresses. */
const noNumbers: Values = fc.constantFrom(
  null,
  new Deferred<AbiStage>("<34 fractions>", () => new Float64Array(34).fill(0.5)),
  new Deferred<AbiStage>("<34 NaN>", () => new Float64Array(34).fill(NaN)),
);
const noProduct = noNumbers.map((numbers) => [numbers]);

const algorithms: Values = fc.constantFrom(null, lent(512));

/** Generators by function. */
export const moduleArguments: Readonly<Record<string, fc.Arbitrary<AbiCall>>> = {
  gs_module_create: passesList([device], fc.oneof(image, noImage), [result]),
  gs_module_load: passes(module),
  gs_module_log: passesList([module], text),
  gs_module_destroy: passes(module),
  gs_module_kernel_name: passesList([module, fc.oneof(fc.constantFrom(0, 1), int32)], text),
  gs_module_parameter: passes(
    module,
    kernelName,
    fc.oneof(fc.constantFrom(0, 1, 2), int32),
    result,
  ),
  gs_module_kernel: passesList([module, kernelName], parameters, [result]),
  gs_module_variable: passes(module, textOf("counter", "weights", "counters", ""), result),

  gs_nvrtc_open: passesList([libraryPath, libraryPath], text, [result]),
  gs_nvrtc_architectures: passesList([], architectures, [result]),
  gs_nvrtc_create: passesList([], programTexts, [result]),
  gs_nvrtc_compile: passes(program),
  gs_nvrtc_cancel: passes(program),
  gs_nvrtc_output: passesList([program, fc.oneof(fc.constantFrom(0, 1, 2), int32)], output, [
    result,
  ]),
  gs_nvrtc_lowered_name: passesList([program, int32], text),
  gs_nvrtc_destroy: passes(program),

  gs_cublaslt_open: passesList([libraryPath], text, [result]),
  // Without the library there are no products.
  gs_cublaslt_prepare: passesList([device], noProduct, [result]),
  gs_cublaslt_algorithms: passes(int32, algorithms, int32, result),
  gs_cublaslt_matmul: passes(int32, handle("stream"), algorithms, noNumbers),
  gs_cublaslt_destroy: passes(int32),
};
