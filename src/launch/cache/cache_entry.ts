/**
 * The file format of the compile cache.
 *
 * A file is a magic number (8 bytes), the SHA-256 digest of the rest (32 bytes), the length of a
 * description (4 bytes, big-endian), the description (JSON), and the image. The digest reveals
 * accidental damage: a truncated file, a bad sector, half of a write. The check of the directory's
 * owner guards against forged files.
 *
 * @module
 */

import type { CompiledImage } from "../compile/compiler.ts";
import type { SourceDeclarations } from "../module/module_contents.ts";
import { readableExpression } from "../source/kernels.ts";
import { CACHE_SCHEMA, sha256 } from "./cache_key.ts";

/** Machine code of a source, and the kernels and variables that the source declares. */
export interface CompiledSource {
  readonly image: CompiledImage;
  readonly declarations: SourceDeclarations;
}

type Pairs<Of> = Of extends ReadonlyMap<infer Key, infer Value> ? readonly [Key, Value][] : never;

interface Description extends SourceDeclarations {
  readonly key: string;
  /** The name of the source in diagnostics. */
  readonly source: string;
  readonly format: CompiledImage["format"];
  readonly names: Pairs<CompiledImage["loweredNames"]>;
  readonly resources: Pairs<CompiledImage["resources"]>;
  readonly log: string;
  readonly bytes: number;
}

/** The content of an entry, with a view of its image; or the problem with the entry. */
export type EntryReading = { readonly compiled: CompiledSource } | { readonly problem: string };

const MAGIC = Uint8Array.of(0x93, ...new TextEncoder().encode("GSKC"), CACHE_SCHEMA, 0x0d, 0x0a);
const DIGEST_BYTES = 32;
const HEAD_BYTES = MAGIC.length + DIGEST_BYTES;
/** The position of the description, behind its length. */
const TEXT_START = HEAD_BYTES + 4;
/** The maximum length of a description that a listing reads. */
const MAX_TITLE_BYTES = 2 ** 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Encodes an entry.
 *
 * @param source The name of the source in diagnostics.
 */
export async function encodeEntry(
  key: string,
  source: string,
  { image, declarations }: CompiledSource,
): Promise<Uint8Array<ArrayBuffer>> {
  const description: Description = {
    key,
    source,
    ...declarations,
    format: image.format,
    names: [...image.loweredNames],
    resources: [...image.resources],
    log: image.log,
    bytes: image.image.length,
  };
  const text = encoder.encode(JSON.stringify(description));
  const entry = new Uint8Array(TEXT_START + text.length + image.image.length);
  new DataView(entry.buffer).setUint32(HEAD_BYTES, text.length);
  entry.set(text, TEXT_START);
  entry.set(image.image, TEXT_START + text.length);
  entry.set(MAGIC);
  entry.set(await sha256(entry.subarray(HEAD_BYTES)), MAGIC.length);
  return entry;
}

/**
 * Decodes an entry. Anything but the result of {@linkcode encodeEntry} for this key is a problem,
 * never an exception.
 */
export async function decodeEntry(
  key: string,
  entry: Uint8Array<ArrayBuffer>,
): Promise<EntryReading> {
  if (entry.length < HEAD_BYTES) {
    return { problem: `it ends after ${entry.length} bytes, before its content` };
  }
  if (!startsWith(entry, MAGIC)) return { problem: "it begins as files of another kind do" };
  const digest = await sha256(entry.subarray(HEAD_BYTES));
  if (!startsWith(entry.subarray(MAGIC.length), digest)) {
    return { problem: "its content is not what was written" };
  }
  const description = describedIn(entry);
  if (description === undefined) return { problem: "its description cannot be read" };
  if (description.key !== key) return { problem: "it is the entry of another key" };
  const { kernels, variables, uncompiled, bytes, format, names, resources, log } = description;
  if (imageStart(entry) + bytes !== entry.length) {
    return { problem: `its image is not of the ${bytes} bytes that it should have` };
  }
  const image: CompiledImage = {
    format,
    image: entry.subarray(entry.length - bytes),
    loweredNames: new Map(names),
    resources: new Map(resources),
    log,
  };
  return { compiled: { image, declarations: { kernels, variables, uncompiled } } };
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}

function imageStart(entry: Uint8Array<ArrayBuffer>): number {
  return TEXT_START + new DataView(entry.buffer, entry.byteOffset).getUint32(HEAD_BYTES);
}

/** Reads the title of an entry without its image and unverified; undefined where it has none. */
export function readTitle(
  path: string,
): { readonly source: string; readonly kernels: readonly string[] } | undefined {
  using file = Deno.openSync(path);
  const head = new Uint8Array(TEXT_START);
  if (file.readSync(head) !== TEXT_START || !startsWith(head, MAGIC)) return undefined;
  const length = imageStart(head);
  if (length > MAX_TITLE_BYTES) return undefined;
  const start = new Uint8Array(length);
  file.seekSync(0, Deno.SeekMode.Start);
  file.readSync(start);
  const description = describedIn(start);
  if (description === undefined) return undefined;
  // Expressions of variables begin with an ampersand.
  const kernels = description.names.map(([name]) => name).filter((name) => !name.startsWith("&"));
  return { source: description.source, kernels: kernels.map(readableExpression) };
}

function describedIn(entry: Uint8Array<ArrayBuffer>): Description | undefined {
  if (entry.length < TEXT_START) return undefined;
  const end = imageStart(entry);
  if (end > entry.length) return undefined;
  try {
    const value: unknown = JSON.parse(decoder.decode(entry.subarray(TEXT_START, end)));
    return isDescription(value) ? value : undefined;
  } catch {
    // Neither UTF-8 nor JSON: the caller says so.
    return undefined;
  }
}

/** The digest rules out damage: the types of these fields rule out another program's files. */
function isDescription(value: unknown): value is Description {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as { [Field in keyof Description]?: unknown };
  const { kernels, variables, uncompiled, names, resources } = fields;
  return [fields.key, fields.source, fields.log].every((text) => typeof text === "string") &&
    Number.isSafeInteger(fields.bytes) &&
    [kernels, variables, uncompiled, names, resources].every(Array.isArray);
}
