/**
 * Opens the files of a model.
 *
 * @module
 */

import { basename, join } from "node:path";
import { refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { namedFile, readNamed } from "../../launch/module/named_file.ts";
import { TensorFileError } from "../../tensor/mod.ts";
import { openGguf } from "./gguf_source.ts";
import { I2S_LAYOUTS, type ModelSource, type SourceOptions } from "./model_source.ts";
import { openFolder } from "./safetensors_source.ts";

/**
 * Opens the files of a model: a GGUF file, or a folder of Hugging Face with `config.json` and
 * safetensors. Only headers are read.
 *
 * @param source A path or the URL of a file or a folder. A file `config.json` stands for its folder.
 * @param options The layout of I2_S weights.
 * @throws {TensorFileError} If a file is malformed, cut short or inconsistent, or not of a supported
 * model; the message names the field.
 * @throws {Deno.errors.NotFound} If there is no such file, and other errors of the file system.
 * @throws {TypeError} If the source is no path, or an option is unknown.
 *
 * @example
 * ```ts
 * import { openSource } from "@gridstride/cuda/bitnet";
 *
 * async function layersOf(path: string): Promise<number> {
 *   await using source = await openSource(path);
 *   return source.config.layers;
 * }
 * console.log(typeof layersOf); // function
 * ```
 * @category Files
 */
export async function openSource(
  source: string | URL,
  options: SourceOptions = {},
): Promise<ModelSource> {
  const { folder, file } = await modelPlace(source, options, "open a model");
  return folder === undefined ? await openGguf(file!, options.layout) : await openFolder(folder);
}

/** Checks arguments, and finds the folder or the GGUF file that a source names. */
export async function modelPlace(
  source: string | URL,
  options: SourceOptions,
  action: string,
): Promise<{ readonly folder?: string; readonly file?: string }> {
  requireOptions(options, ["layout"], action);
  const { layout } = options;
  if (layout !== undefined && !I2S_LAYOUTS.includes(layout)) {
    refuseOption(TypeError, action, "layout", `one of ${I2S_LAYOUTS.join(", ")}`, layout);
  }
  const named = namedFile(source, action, "source");
  const { path } = named;
  const { isDirectory } = await readNamed(named, action, Deno.stat);
  const folderAt = (folder: string) => {
    if (layout === undefined) return { folder };
    throw new TypeError(`Cannot ${action} as options.layout is for GGUF files: this is a folder`);
  };
  if (isDirectory) return folderAt(path);
  const name = basename(path);
  if (name === "config.json" || name === "model.safetensors.index.json") {
    return folderAt(join(path, ".."));
  }
  if (/\.safetensors$/i.test(name)) {
    throw new TensorFileError(
      "holds tensors only: name the folder that also has its config.json",
      path,
    );
  }
  return { file: path };
}
