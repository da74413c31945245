/**
 * What a native library says of itself.
 *
 * @module
 */

/** Which of the two native libraries: over the CUDA runtime, or over the host device. */
export type LibraryKind = "cuda" | "host";

/** How a native library was built, as `gs_abi_describe` reports it. */
export interface BuildRecord {
  /** Which of the two libraries it is. */
  readonly kind: LibraryKind;
  /** The compiler and its version. */
  readonly compiler: string;
  /** The processor or GPU architectures it holds code for. */
  readonly architectures: string;
  /** A digest of the sources it was built from. */
  readonly sourceHash: string;
  /** The compiler flags. */
  readonly flags: string;
}

/**
 * Reads the JSON text of `gs_abi_describe`.
 *
 * @throws {TypeError} If the text is not such a record.
 */
export function parseBuildRecord(text: string): BuildRecord {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`Cannot read the build record as it is no object: it is ${text}`);
  }
  const record = value as Record<string, unknown>;
  const kind = record["kind"];
  if (kind !== "cuda" && kind !== "host") {
    throw new TypeError(
      `Cannot read the build record as kind must be "cuda" or "host": it is ${
        JSON.stringify(kind)
      }`,
    );
  }
  const field = (name: string): string => String(record[name] ?? "unknown");
  return {
    kind,
    compiler: field("compiler"),
    architectures: field("architectures"),
    sourceHash: field("sourceHash"),
    flags: field("flags"),
  };
}
