/**
 * Where `gridstride analyze` takes indices from: a file, a stride, or what was typed.
 *
 * @module
 */

import type { IndexArray } from "../lab/analysis/mod.ts";
import { type Invocation, UsageError } from "./command.ts";
import { FileProblem, isAboutFile, reasonOf } from "./file_problem.ts";
import { NpyError } from "./npy_header.ts";
import { NpyIndices } from "./npy_indices.ts";
import { integerOption, textOption } from "./run_options.ts";

/** Accesses of a stride where their number is not given: 32 requests. */
const STRIDE_COUNT = 1024;
/** Indices that are made at once. */
const PIECE = 2 ** 16;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** Indices, and where they come from. */
export interface IndexSource {
  /** Where they come from. */
  readonly subject: string;
  /** The indices, piece by piece, once. */
  pieces(): Iterable<IndexArray>;
}

/** What was typed says where indices come from, in one of three ways. */
export function indexSource(invocation: Invocation): IndexSource {
  const [file, extra] = invocation.positional;
  const stride = textOption(invocation, "stride");
  const indices = textOption(invocation, "indices");
  const given = [file, stride, indices].filter((source) => source !== undefined).length;
  if (given !== 1) {
    throw new UsageError(
      "Cannot analyse accesses as there must be one of FILE.npy, --stride and --indices: " +
        (given === 0 ? "there is none" : `there are ${given}`),
    );
  }
  if (extra !== undefined) {
    throw new UsageError(
      `Cannot analyse accesses as there must be one FILE: "${extra}" is another`,
    );
  }
  const count = integerOption(invocation, "count", 0, LARGEST);
  if (file !== undefined) return limited(fileSource(file), count);
  if (indices !== undefined) return limited(typedSource(indices), count);
  return strideSource(stride!, count ?? STRIDE_COUNT);
}

function fileSource(path: string): IndexSource {
  return {
    subject: path,
    *pieces() {
      try {
        using indices = new NpyIndices(path);
        yield* indices.pieces();
      } catch (error) {
        if (error instanceof NpyError) {
          throw new FileProblem(`Cannot analyse ${path} as it ${error.message}`);
        }
        if (!isAboutFile(error)) throw error;
        throw new FileProblem(
          `Cannot analyse ${path} as it must be readable: ${reasonOf(error)}`,
        );
      }
    },
  };
}

function typedSource(text: string): IndexSource {
  const parts = text.split(",");
  const wrong = parts.find((part) => !/^\d+$/.test(part));
  if (wrong !== undefined || parts.some((part) => Number(part) > LARGEST)) {
    throw new UsageError(
      `Cannot use --indices as they must be integers in 0..${LARGEST} separated by commas: ` +
        `there is "${wrong ?? parts.find((part) => Number(part) > LARGEST)}"`,
    );
  }
  const indices = Float64Array.from(parts, Number);
  const noun = indices.length === 1 ? "index" : "indices";
  return { subject: `${indices.length} ${noun}`, pieces: () => [indices] };
}

function strideSource(text: string, count: number): IndexSource {
  const stride = /^-?\d+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(stride)) {
    throw new UsageError(
      `Cannot use --stride as it must be an integer in ${-LARGEST}..${LARGEST}: it is "${text}"`,
    );
  }
  const last = Math.max(0, count - 1) * Math.abs(stride);
  if (last > LARGEST) {
    throw new UsageError(
      `Cannot use --stride as ${count} accesses must end before 2^53: the last is at ${last}`,
    );
  }
  // Backwards from the last one, as no index is negative.
  const first = stride < 0 ? last : 0;
  return {
    subject: `stride ${stride}`,
    *pieces() {
      for (let from = 0; from < count; from += PIECE) {
        const length = Math.min(PIECE, count - from);
        const Piece = last < 2 ** 32 ? Uint32Array : Float64Array;
        const piece = new Piece(length);
        for (let i = 0; i < length; i++) piece[i] = first + stride * (from + i);
        yield piece;
      }
    },
  };
}

/** The first of them. */
function limited(source: IndexSource, count: number | undefined): IndexSource {
  if (count === undefined) return source;
  return {
    subject: source.subject,
    *pieces() {
      let left = count;
      // Of no indices, too, so that a file is one in any case.
      for (const piece of source.pieces()) {
        if (left > 0) yield piece.length <= left ? piece : piece.subarray(0, left);
        left -= piece.length;
        if (left <= 0) return;
      }
    },
  };
}
