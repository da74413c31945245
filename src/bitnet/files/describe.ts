/**
 * Describes the content of a model's files, also of models that the package cannot run.
 *
 * @module
 */

import { TensorFileError } from "../../tensor/mod.ts";
import { safetensorsName } from "../../tensor/files/safetensors.ts";
import { type ModelConfig, requireConfig } from "../config.ts";
import { tokenizerOf } from "../tokenizer/source_tokenizer.ts";
import { GgufArray, type GgufHeader, type GgufValue, readGgufHeader } from "./gguf_header.ts";
import { typeName } from "./gguf_source.ts";
import type { ModelSource, SourceOptions, WeightSource } from "./model_source.ts";
import { modelPlace, openSource } from "./open_source.ts";
import { folderTensors } from "./safetensors_source.ts";
import { SourceFile } from "./source_file.ts";

/**
 * A tensor in a file, as {@linkcode describeModel} lists it.
 * @category Files
 */
export interface DescribedTensor {
  /** Its name in the file. */
  readonly name: string;
  /** Its extents, the last one that of neighbours. */
  readonly shape: readonly number[];
  /** The format's name of its element type. */
  readonly type: string;
  /** Its bytes in the file, up to the next tensor in a GGUF file. */
  readonly bytes: number;
}

/**
 * A weight of the decoder, as {@linkcode describeModel} lists it.
 * @category Files
 */
export type DescribedWeight =
  & Pick<WeightSource, "name" | "fileName" | "shape" | "format" | "formatOptions" | "quantization">
  & {
    /** The bytes of the format. */
    readonly bytes: number;
    /** The factor beside the scales among the bytes; of scales of blocks, their number. */
    readonly scale?: number | string;
  };

/**
 * The content of a model's files.
 * @category Files
 */
export interface ModelDescription {
  /** The kind of files. */
  readonly kind: "gguf" | "safetensors";
  /** The keys of a GGUF file: arrays as their length and type, long texts cut. */
  readonly keys: Readonly<Record<string, string | number | boolean>>;
  /** All tensors in the files. */
  readonly tensors: readonly DescribedTensor[];
  /** The decoder's dimensions, if the package can read them. */
  readonly config?: ModelConfig;
  /** The weights of the decoder, if the package can read them. */
  readonly weights?: readonly DescribedWeight[];
  /** The reason for which the model cannot be run; undefined if it can. */
  readonly problem?: string;
}

const MAX_TEXT = 200;

const DESCRIBE = "describe a model";

/** A value as JSON has it. */
function plainValue(value: GgufValue): string | number | boolean {
  if (value instanceof GgufArray) return `${value.length} × ${value.type}`;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "string" || value.length <= MAX_TEXT) return value;
  return `${value.slice(0, MAX_TEXT - 1)}…`;
}

/** The table of a GGUF file. */
function ggufTensors({ values, tensors }: GgufHeader): DescribedTensor[] {
  const architecture = values.get("general.architecture");
  const name = typeof architecture === "string" ? architecture : undefined;
  return tensors.map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    type: typeName(tensor.type, name),
    bytes: tensor.room,
  }));
}

/** The tensors and keys of the files. */
async function contentOf(
  source: string | URL,
  options: SourceOptions,
): Promise<Pick<ModelDescription, "kind" | "keys" | "tensors">> {
  const { folder, file } = await modelPlace(source, options, DESCRIBE);
  if (file !== undefined) {
    using opened = await SourceFile.open(file);
    const header = await readGgufHeader(opened);
    const keys = [...header.values].map(([key, value]) => [key, plainValue(value)] as const);
    return { kind: "gguf", keys: Object.fromEntries(keys), tensors: ggufTensors(header) };
  }
  await using cleanup = new AsyncDisposableStack();
  const tensors = await folderTensors(folder!, cleanup);
  const described = [...tensors.values()].map(({ name, shape, dtype, start, end }) => ({
    ...{ name, shape, type: safetensorsName(dtype), bytes: end - start },
  }));
  return { kind: "safetensors", keys: {}, tensors: described };
}

function describedWeight(weight: WeightSource): DescribedWeight {
  const { name, fileName, shape, format, formatOptions, byteLength, scale, quantization } = weight;
  const factor = typeof scale === "object" ? `${scale.length} scales` : scale;
  return {
    ...{ name, fileName, shape, format, formatOptions, bytes: byteLength },
    ...factor === undefined ? {} : { scale: factor },
    ...quantization === undefined ? {} : { quantization },
  };
}

/** What keeps a model with a known decoder from running, without its weights and a device. */
function problemOf(model: ModelSource): Pick<ModelDescription, "problem"> {
  try {
    requireConfig(model.config, DESCRIBE);
    tokenizerOf(model, DESCRIBE);
    return {};
  } catch (error) {
    // Opening the model would fail with the same error.
    return { problem: (error as Error).message };
  }
}

/**
 * Describes the files of a model without reading its weights.
 *
 * @param source A path or the URL of a GGUF file or a folder.
 * @param options The layout of I2_S weights.
 * @returns The keys and tensors, the decoder if the package can read it, and the reason if it cannot
 * run the model.
 * @throws {TensorFileError} If a header is malformed or contradicts the size of its file.
 * @throws {Deno.errors.NotFound} If there is no such file, and other errors of the file system.
 * @throws {TypeError} If the source is no path, or an option is unknown.
 *
 * @example
 * ```ts
 * import { describeModel } from "@gridstride/cuda/bitnet";
 *
 * async function parametersOf(path: string): Promise<number> {
 *   const { tensors } = await describeModel(path);
 *   return tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
 * }
 * console.log(typeof parametersOf); // function
 * ```
 * @category Files
 */
export async function describeModel(
  source: string | URL,
  options: SourceOptions = {},
): Promise<ModelDescription> {
  const content = await contentOf(source, options);
  try {
    await using model = await openSource(source, options);
    const weights = [...model.weights.values()].map(describedWeight);
    return { ...content, config: model.config, weights, ...problemOf(model) };
  } catch (error) {
    if (!(error instanceof TensorFileError)) throw error;
    return { ...content, problem: error.message };
  }
}
