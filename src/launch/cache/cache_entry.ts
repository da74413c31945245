/**
 * An entry of the compile cache: machine code, and what the compiler said about it.
 *
 * A sealed file whose content is the length of a description (four bytes, the most significant
 * first), the description (JSON), and the image up to the end. The description holds the key and
 * the size of the image, so that an entry under another's name is found out.
 *
 * @module
 */

import type {
  CompiledImage,
  CompileRequest,
  ImageFormat,
  KernelResources,
} from "../compile/compiler.ts";
import { CACHE_SCHEMA } from "./cache_key.ts";
import { concatenate } from "./digest.ts";
import { magicOf, seal, SEAL_BYTES, unseal } from "./sealed_file.ts";

/** What an entry says of itself, besides the image. */
interface Description {
  readonly key: string;
  /** What diagnostics call the source. */
  readonly source: string;
  /** The expressions of the request that are no variables. */
  readonly kernels: readonly string[];
  readonly format: ImageFormat;
  readonly names: readonly (readonly [expression: string, lowered: string])[];
  readonly resources: readonly (readonly [lowered: string, figures: readonly number[]])[];
  readonly log: string;
  /** Bytes of the image. */
  readonly bytes: number;
}

/** What came of reading an entry. */
export type EntryReading =
  | {
    /** The machine code; a view of the entry's bytes. */
    readonly image: CompiledImage;
  }
  | {
    /** Completes "the entry is bad as …". */
    readonly problem: string;
  };

/** What a listing shows of an entry. */
export interface EntryTitle {
  /** What diagnostics call the source. */
  readonly source: string;
  /** The kernels in it, as C++ names them. */
  readonly kernels: readonly string[];
}

const MAGIC = magicOf("GSKC", CACHE_SCHEMA);
const LENGTH_BYTES = 4;
const FORMATS: readonly unknown[] = ["cubin", "ptx", "fatbin", "library"] satisfies ImageFormat[];

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The entry of a request's machine code. */
export function encodeEntry(
  key: string,
  request: CompileRequest,
  image: CompiledImage,
): Promise<Uint8Array<ArrayBuffer>> {
  const description: Description = {
    key,
    source: request.name,
    kernels: request.expressions.filter((expression) => !expression.startsWith("&")),
    format: image.format,
    names: [...image.loweredNames],
    resources: [...image.resources].map((
      [lowered, { registers, sharedMemory, localMemory }],
    ) => [lowered, [registers, sharedMemory, localMemory]]),
    log: image.log,
    bytes: image.image.length,
  };
  const text = encoder.encode(JSON.stringify(description));
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, text.length);
  return seal(MAGIC, concatenate([length, text, image.image]));
}

/**
 * Reads an entry. Believes nothing: whatever is not exactly what {@linkcode encodeEntry} makes for
 * this key is a problem, never an exception.
 */
export async function decodeEntry(
  key: string,
  file: Uint8Array<ArrayBuffer>,
): Promise<EntryReading> {
  const unsealed = await unseal(MAGIC, file);
  if ("problem" in unsealed) return unsealed;
  const { content } = unsealed;
  const description = describedIn(content);
  if (description === undefined) return { problem: "its description cannot be read" };
  if (description.key !== key) return { problem: "it is the entry of another key" };
  const image = content.subarray(content.length - description.bytes);
  if (imageStart(content) + description.bytes !== content.length) {
    return { problem: `its image is not of the ${description.bytes} bytes that it should have` };
  }
  return { image: imageOf(description, image) };
}

/**
 * What a listing shows of an entry, from its first bytes and unverified; undefined where they are
 * no entry's or not enough.
 */
export function entryTitle(start: Uint8Array<ArrayBuffer>): EntryTitle | undefined {
  if (!MAGIC.every((byte, index) => start[index] === byte)) return undefined;
  return describedIn(start.subarray(SEAL_BYTES));
}

/** How many bytes {@linkcode entryTitle} needs of an entry, from its first {@linkcode TITLE_HEAD}. */
export function titleBytes(head: Uint8Array<ArrayBuffer>): number {
  return head.length < TITLE_HEAD ? 0 : SEAL_BYTES + imageStart(head.subarray(SEAL_BYTES));
}

/** The bytes of an entry that say how long its description is. */
export const TITLE_HEAD: number = SEAL_BYTES + LENGTH_BYTES;

/** Where the image starts in a content. */
function imageStart(content: Uint8Array<ArrayBuffer>): number {
  return LENGTH_BYTES + new DataView(content.buffer, content.byteOffset).getUint32(0);
}

function describedIn(content: Uint8Array<ArrayBuffer>): Description | undefined {
  if (content.length < LENGTH_BYTES) return undefined;
  const end = imageStart(content);
  if (end > content.length) return undefined;
  try {
    const value: unknown = JSON.parse(decoder.decode(content.subarray(LENGTH_BYTES, end)));
    return isDescription(value) ? value : undefined;
  } catch {
    // Neither UTF-8 nor JSON, which is what the caller says.
    return undefined;
  }
}

function isDescription(value: unknown): value is Description {
  if (typeof value !== "object" || value === null) return false;
  const { key, source, kernels, format, names, resources, log, bytes } = value as {
    [Field in keyof Description]?: unknown;
  };
  return isText(key) && isText(source) && isText(log) && FORMATS.includes(format) &&
    isCount(bytes) && isListOf(kernels, isText) &&
    isListOf(names, (pair) => isPair(pair, isText)) &&
    isListOf(resources, (pair) => isPair(pair, isFigures));
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && value as number >= 0;
}

function isListOf(value: unknown, isElement: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isElement);
}

function isPair(value: unknown, isSecond: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length === 2 && isText(value[0]) && isSecond(value[1]);
}

function isFigures(value: unknown): boolean {
  return isListOf(value, isCount) && (value as unknown[]).length === 3;
}

function imageOf(
  { format, names, resources, log }: Description,
  image: Uint8Array<ArrayBuffer>,
): CompiledImage {
  return {
    format,
    image,
    loweredNames: new Map(names),
    resources: new Map(resources.map(([lowered, figures]) => [lowered, resourcesOf(figures)])),
    log,
  };
}

function resourcesOf([registers, sharedMemory, localMemory]: readonly number[]): KernelResources {
  return { registers: registers!, sharedMemory: sharedMemory!, localMemory: localMemory! };
}
