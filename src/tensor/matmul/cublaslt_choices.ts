/**
 * The algorithms of cuBLASLt that were the fastest, on the disk by model of the device and version of
 * the library. They are valid for both, as cuBLASLt documents.
 *
 * Problems with the file cost time only: they are logged as a warning, once.
 *
 * @module
 */

import { makeCacheDirectory, verifyPermittedFile } from "../../ffi/cache_directory.ts";
import type { CublasLtAlgorithm } from "../../ffi/cublaslt/native_cublaslt.ts";
import { logger } from "../../ffi/logging.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { type CachePlace, cacheSetting } from "../../launch/cache/cache_settings.ts";
import { isFileProblem } from "../../launch/compile/files.ts";
import { cublasLtOf } from "./cublaslt_search.ts";

/** Changed with the meaning of the file: older ones are not read. */
const FORMAT = "gridstride products 1";
/** Products in a file; the oldest ones are dropped. */
const MAX_CHOICES = 2048;

/** The bytes of an algorithm in hexadecimal digits and those of its workspace, by product. */
type Choices = Map<string, readonly [bytes: string, workspaceBytes: number]>;

const inMemory = new WeakMap<DeviceContext, Choices>();
let isWarned = false;

/** The model of a device, of which all devices are equally fast, and the version of the library. */
function identityOf({ info, library }: DeviceContext): string {
  const found = cublasLtOf(library);
  return [
    FORMAT,
    `${info.kind} ${info.name}`,
    `compute capability ${info.computeCapability}`,
    `${info.multiprocessorCount} multiprocessors`,
    `driver ${info.driverVersion ?? "none"}`,
    "version" in found ? found.version : "",
  ].join("; ");
}

/** The file of a device in the present cache directory; undefined without one. */
function fileOf(context: DeviceContext): { path: string; place: CachePlace } | undefined {
  const setting = cacheSetting();
  if (setting.kind !== "on") return undefined;
  const { place } = setting;
  const name = identityOf(context).replaceAll(/[^\w.]+/g, "_");
  return { path: `${place.directory}/products/${name}.json`, place };
}

/** Uses the file system; a failure is a warning, and `undefined`. */
function attempt<Result>(about: string, operation: () => Result): Result | undefined {
  try {
    return operation();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (!isFileProblem(error) && !(error instanceof SyntaxError)) throw error;
    if (!isWarned) {
      logger("tensor").warn("algorithms of cuBLASLt are {about}: {reason}", {
        about,
        reason: error.message,
      });
    }
    isWarned = true;
    return undefined;
  }
}

function readChoices(context: DeviceContext): Choices {
  const file = fileOf(context);
  if (file === undefined) return new Map();
  return attempt("timed again", () => {
    verifyPermittedFile(file.place.root, file.path);
    const { identity, choices } = JSON.parse(Deno.readTextFileSync(file.path));
    if (identity !== identityOf(context)) return new Map();
    for (const [product, [bytes, workspaceBytes]] of choices) {
      const isValid = /^[0-9a-f]{128}$/.test(bytes) && Number.isSafeInteger(workspaceBytes);
      if (!isValid) throw new SyntaxError(`${file.path} has no algorithm for ${product}`);
    }
    return new Map(choices) as Choices;
  }) ?? new Map();
}

function writeChoices(context: DeviceContext, choices: Choices): void {
  const file = fileOf(context);
  if (file === undefined || !file.place.mayWrite) return;
  const { path, place: { root, directory } } = file;
  attempt("not kept", () => {
    makeCacheDirectory(root, `${directory}/products`);
    // A reader sees the whole file or none.
    const temporary = `${path}.${Deno.pid}.${crypto.randomUUID()}`;
    const text = JSON.stringify({ identity: identityOf(context), choices: [...choices] });
    try {
      Deno.writeTextFileSync(temporary, text, { createNew: true, mode: 0o600 });
      Deno.renameSync(temporary, path);
    } catch (error) {
      attempt("not kept", () => Deno.removeSync(temporary));
      throw error;
    }
  });
}

/** The algorithm that this process or another one has chosen for a product. */
export function knownAlgorithm(
  context: DeviceContext,
  slots: Float64Array,
): CublasLtAlgorithm | undefined {
  let known = inMemory.get(context);
  if (known === undefined) inMemory.set(context, known = readChoices(context));
  const [hex, workspaceBytes] = known.get(slots.join()) ?? [];
  return hex === undefined
    ? undefined
    : { bytes: Uint8Array.fromHex(hex), workspaceBytes: workspaceBytes! };
}

/** Keeps the choice for a product, with those that other processes have made meanwhile. */
export function rememberAlgorithm(
  context: DeviceContext,
  slots: Float64Array,
  { bytes, workspaceBytes }: CublasLtAlgorithm,
): void {
  const known = new Map([...inMemory.get(context) ?? [], ...readChoices(context)]);
  known.set(slots.join(), [bytes.toHex(), workspaceBytes]);
  const choices = new Map([...known].slice(-MAX_CHOICES));
  inMemory.set(context, choices);
  writeChoices(context, choices);
}
