/**
 * Reads parts of a file in any order.
 *
 * @module
 */

import { namedFile, readNamed } from "../../launch/module/named_file.ts";
import { TensorFileError } from "../../tensor/mod.ts";

const ACTION = "open a model";

/** An open file. Reads wait for each other, because they share the file's position. */
export class SourceFile implements Disposable {
  readonly path: string;
  readonly size: number;
  readonly #file: Deno.FsFile;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(path: string, size: number, file: Deno.FsFile) {
    this.path = path;
    this.size = size;
    this.#file = file;
  }

  /** Opens a file. */
  static async open(path: string): Promise<SourceFile> {
    return await readNamed(namedFile(path, ACTION), ACTION, async (path) => {
      const file = await Deno.open(path);
      try {
        const { size, isFile } = await file.stat();
        if (!isFile) throw new Deno.errors.IsADirectory("it is a directory");
        return new SourceFile(path, size, file);
      } catch (error) {
        file.close();
        throw error;
      }
    });
  }

  /** Fills the target with the bytes from an offset on. */
  async readInto(target: Uint8Array, offset: number): Promise<void> {
    const reading = this.#last.then(() => this.#readNow(target, offset));
    this.#last = reading.catch(() => {});
    return await reading;
  }

  /** The bytes of a part, which the caller has checked to be in the file. */
  async bytes(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length);
    await this.readInto(bytes, offset);
    return bytes;
  }

  async #readNow(target: Uint8Array, offset: number): Promise<void> {
    if (this.#isClosed) throw new TypeError(`Cannot read ${this.path} as it is closed`);
    await this.#file.seek(offset, Deno.SeekMode.Start);
    for (let done = 0; done < target.length;) {
      const count = await this.#file.read(target.subarray(done));
      if (count === null) {
        throw new TensorFileError(
          `has become shorter: byte ${offset + done} of ${this.size} is missing`,
          this.path,
        );
      }
      done += count;
    }
  }

  /** Closes the file; repeated calls have no effect. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#file.close();
  }
}
