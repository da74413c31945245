/**
 * Files with known content that are gone after the test.
 *
 * @module
 */

/** Bytes that differ from their neighbours and from those a power of two away. */
export function patternBytes(length: number, seed = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = 0x9e3779b9 ^ seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** A directory that is removed with all its files when it is disposed. */
export class TemporaryDirectory implements Disposable {
  /** Its path. */
  readonly path: string = Deno.makeTempDirSync({ prefix: "gridstride-test-" });
  #files = 0;

  /** Makes a file and returns its path. */
  file(content: Uint8Array, name = `file ${++this.#files}.bin`): string {
    const path = `${this.path}/${name}`;
    Deno.writeFileSync(path, content);
    return path;
  }

  /** Creates a directory with these texts, by their paths in it. */
  static of(texts: Readonly<Record<string, string>>): TemporaryDirectory {
    const folder = new TemporaryDirectory();
    for (const [name, text] of Object.entries(texts)) {
      const path = `${folder.path}/${name}`;
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      Deno.writeTextFileSync(path, text);
    }
    return folder;
  }

  /** Makes a file that has no blocks on the disk, only a size. */
  sparseFile(bytes: number): string {
    const path = this.file(new Uint8Array());
    Deno.truncateSync(path, bytes);
    return path;
  }

  /** Removes it. */
  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}
