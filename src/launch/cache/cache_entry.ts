/**
 * An entry of the compile cache: machine code, and what compiler and source say about it.
 *
 * A sealed file whose content is the length of a description (four bytes, the most significant
 * first), the description (JSON), and the image up to the end. The description holds the key and
 * the size of the image, so that an entry under another's name is found out.
 *
 * @module
 */

import type { CompiledImage, ImageFormat, KernelResources } from "../compile/compiler.ts";
import type { DeclaredKernel, SourceDeclarations, UncompiledKernel } from "../module_contents.ts";
import type { KernelParameter, KernelSignature } from "../signature/signature.ts";
import { readableExpression } from "../source/kernels.ts";
import { CACHE_SCHEMA } from "./cache_key.ts";
import { concatenate } from "./digest.ts";
import { magicOf, seal, SEAL_BYTES, unseal } from "./sealed_file.ts";

/** Machine code of a source, and what the source declares. */
export interface CompiledSource {
  /** The machine code. */
  readonly image: CompiledImage;
  /** What a module needs to know of the source. */
  readonly declarations: SourceDeclarations;
}

/** What an entry says of itself, besides the image. */
interface Description extends SourceDeclarations {
  readonly key: string;
  /** What diagnostics call the source. */
  readonly source: string;
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
    /** What was compiled; its image is a view of the entry's bytes. */
    readonly compiled: CompiledSource;
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

const REASONS: readonly unknown[] = [
  "template",
  "condition",
] satisfies UncompiledKernel["reason"][];

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The entry of a source.
 *
 * @param source What diagnostics call it.
 */
export function encodeEntry(
  key: string,
  source: string,
  { image, declarations }: CompiledSource,
): Promise<Uint8Array<ArrayBuffer>> {
  const { kernels, variables, uncompiled } = declarations;
  const description: Description = {
    key,
    source,
    kernels,
    variables,
    uncompiled,
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
  const unsealing = unseal(MAGIC, file);
  // While another thread makes the digest.
  const description = describedIn(file.subarray(SEAL_BYTES));
  const unsealed = await unsealing;
  if ("problem" in unsealed) return unsealed;
  const { content } = unsealed;
  if (description === undefined) return { problem: "its description cannot be read" };
  if (description.key !== key) return { problem: "it is the entry of another key" };
  const image = content.subarray(content.length - description.bytes);
  if (imageStart(content) + description.bytes !== content.length) {
    return { problem: `its image is not of the ${description.bytes} bytes that it should have` };
  }
  const { kernels, variables, uncompiled } = description;
  const declarations = { kernels, variables, uncompiled };
  return { compiled: { image: imageOf(description, image), declarations } };
}

/**
 * What a listing shows of an entry, from its first bytes and unverified; undefined where they are
 * no entry's or not enough.
 */
export function entryTitle(start: Uint8Array<ArrayBuffer>): EntryTitle | undefined {
  if (!MAGIC.every((byte, index) => start[index] === byte)) return undefined;
  const description = describedIn(start.subarray(SEAL_BYTES));
  if (description === undefined) return undefined;
  const { source, names } = description;
  // Variables are expressions with an ampersand.
  const kernels = names.map(([name]) => name).filter((name) => !name.startsWith("&"))
    .map(readableExpression);
  return { source, kernels };
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
  const { key, source, kernels, variables, uncompiled, format, names, resources, log, bytes } =
    value as { [Field in keyof Description]?: unknown };
  return typeof key === "string" && typeof source === "string" && typeof log === "string" &&
    FORMATS.includes(format) && isCount(bytes) &&
    Array.isArray(kernels) && kernels.every(isKernel) &&
    Array.isArray(variables) && variables.every(isText) &&
    Array.isArray(uncompiled) && uncompiled.every(isUncompiled) &&
    Array.isArray(names) && names.every(isLoweredName) &&
    Array.isArray(resources) && resources.every(isResources);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && value as number >= 0;
}

function isKernel(value: unknown): value is DeclaredKernel {
  if (typeof value !== "object" || value === null) return false;
  const { expression, signature, read } = value as { [Field in keyof DeclaredKernel]?: unknown };
  if (typeof expression !== "string") return false;
  if (signature !== undefined && typeof signature !== "string") return false;
  if (read === undefined) return true;
  if (typeof read !== "object" || read === null) return false;
  const { name, parameters } = read as { [Field in keyof KernelSignature]?: unknown };
  return typeof name === "string" && Array.isArray(parameters) && parameters.every(isParameter);
}

/** Whether it is a parameter whose type has a name. */
function isParameter(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { kind, name, type, isConst, bytes, alignment, dtype, pointeeBytes, pointeeAlignment } =
    value as { [Field in keyof Extract<KernelParameter, { kind: "pointer" }>]?: unknown };
  const isPointer = kind === "pointer";
  return (isPointer || kind === "scalar") && typeof type === "string" &&
    typeof isConst === "boolean" && isCount(bytes) && isCount(alignment) &&
    (name === undefined || typeof name === "string") &&
    (!isPointer || isCount(pointeeBytes) && isCount(pointeeAlignment)) &&
    (dtype === undefined || typeof dtype === "string");
}

function isUncompiled(value: unknown): value is UncompiledKernel {
  if (typeof value !== "object" || value === null) return false;
  const { expression, reason } = value as { [Field in keyof UncompiledKernel]?: unknown };
  return typeof expression === "string" && REASONS.includes(reason);
}

function isLoweredName(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === "string" &&
    typeof value[1] === "string";
}

function isResources(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2 || typeof value[0] !== "string") return false;
  const figures: unknown = value[1];
  return Array.isArray(figures) && figures.length === 3 && figures.every(isCount);
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
