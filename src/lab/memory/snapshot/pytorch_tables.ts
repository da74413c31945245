/**
 * The streams and stacks of a snapshot of PyTorch, each once.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import type { PickleRecord } from "./pickle_record.ts";
import type { PickleValue } from "./pickle_value.ts";
import { refuseField, SnapshotError } from "./snapshot_error.ts";

/** Frames of a stack that are shown. */
const MOST_FRAMES = 256;
/** Characters of a file's or function's name that are shown. */
const LONGEST_NAME = 1024;
/** Characters of all stacks: a small file can share a long name many times. */
const MOST_TEXT = 2 ** 28;

/** Streams by handle. */
export class PytorchStreams {
  /** Their names, by index. */
  readonly names: string[] = [];
  readonly #indices = new Map<number, number>();

  /** The index of a stream. */
  index(handle: number): number {
    let index = this.#indices.get(handle);
    if (index === undefined) {
      index = this.names.length;
      this.names.push(handle === 0 ? "default stream" : `stream 0x${handle.toString(16)}`);
      this.#indices.set(handle, index);
    }
    return index;
  }
}

/** Stacks by their frames. */
export class PytorchSites {
  /** The stacks as text, by index. */
  readonly texts: string[] = [];
  readonly #byText = new Map<string, number>();
  /** Stacks and frames that were seen: a pickle shares them, and comparing texts takes long. */
  readonly #byFrames = new Map<PickleValue, number | null>();
  readonly #frameTexts = new Map<PickleValue, string>();
  #characters = 0;

  /**
   * The index of the stack in a record's `frames`.
   *
   * @returns `null` where there is none.
   * @throws {SnapshotError} If the frames are none.
   */
  index(record: PickleRecord): number | null {
    const legacy = legacyFrames(record.value("history"));
    return this.#indexOf(record.value("frames") ?? legacy, record.pathOf("frames"));
  }

  #indexOf(frames: PickleValue | undefined, path: string): number | null {
    if (frames === undefined || frames === null) return null;
    if (!Array.isArray(frames)) refuseField(path, "a list", frames);
    let index = this.#byFrames.get(frames);
    if (index === undefined) {
      index = frames.length === 0 ? null : this.#indexOfText(this.#textOf(frames, path));
      this.#byFrames.set(frames, index);
    }
    return index;
  }

  #indexOfText(text: string): number {
    let index = this.#byText.get(text);
    if (index === undefined) {
      index = this.texts.length;
      this.texts.push(text);
      this.#byText.set(text, index);
    }
    return index;
  }

  #textOf(frames: readonly PickleValue[], path: string): string {
    const lines = frames.slice(0, MOST_FRAMES).map((frame, index) =>
      this.#frameText(frame, `${path}[${index}]`)
    );
    if (frames.length > MOST_FRAMES) lines.push(`… ${frames.length - MOST_FRAMES} more`);
    const text = lines.join("\n");
    this.#characters += text.length;
    if (this.#characters > MOST_TEXT) {
      throw new SnapshotError(path, `makes the stacks longer than ${MOST_TEXT} characters`);
    }
    return text;
  }

  #frameText(frame: PickleValue, path: string): string {
    let text = this.#frameTexts.get(frame);
    if (text === undefined) {
      text = describeFrame(frame, path);
      this.#frameTexts.set(frame, text);
    }
    return text;
  }
}

function describeFrame(frame: PickleValue, path: string): string {
  if (!(frame instanceof Map)) refuseField(path, "a dictionary", frame);
  const [name, filename, line] = ["name", "filename", "line"].map((field) => frame.get(field));
  if (typeof name !== "string") refuseField(`${path}.name`, "a text", name);
  if (typeof filename !== "string") refuseField(`${path}.filename`, "a text", filename);
  if (typeof line !== "number") refuseField(`${path}.line`, "a number", line);
  return `${shorten(name)} (${shorten(filename)}:${line})`;
}

function shorten(text: string): string {
  const short = text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text;
  return short.replace(/[\r\n]+/g, " ");
}

/** Until version 1.13 or so a block had a history, whose first entry is the latest. */
function legacyFrames(history: PickleValue | undefined): PickleValue | undefined {
  if (!Array.isArray(history) || !(history[0] instanceof Map)) return undefined;
  return history[0].get("frames");
}

/** A value of the allocator's settings, which may be any. */
export function describeSetting(value: PickleValue): string | number | boolean | null {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return String(value);
  return describeValue(value);
}
