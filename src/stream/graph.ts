/**
 * Graphs: work that was captured once and is launched as often as one likes.
 *
 * @module
 */

import { requireInstance } from "../ffi/arguments.ts";
import { giveBack, giveBackAfterFailure, takeSteps } from "../ffi/give_back.ts";
import { destroyGraph, endCapture, graphNodeCount, launchGraph } from "../ffi/native_graph.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { enqueueHeard, listenersOf } from "./activity.ts";
import { defaultStream } from "./default_stream.ts";
import { captureOf, type RunningCapture } from "./running_captures.ts";
import { Stream } from "./stream.ts";

/** Gives back what a graph has used; its last launches may still be running on these streams. */
export type GraphCloser = (streams: ReadonlySet<Stream>) => void;

/**
 * Captured work, made by {@linkcode Stream.capture}. Launching it costs one call, however much work
 * it is, and what was captured on several streams overlaps again.
 *
 * A graph works on the addresses that were captured, as a kernel does. Change what is in the
 * buffers between launches, and keep the buffers until the last launch is done.
 *
 * @example Run two kernels by one launch
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.upload(new Float32Array([1, 2, 3]));
 * using y = device.allocate("float32", 3, { fill: 0 });
 * using graph = device.stream.capture(() => {
 *   device.kernels.scale(x, 2, x);
 *   device.kernels.add(x, y, y);
 * });
 * graph.launch();
 * graph.launch();
 * console.log(await y.toArray()); // Float32Array(3) [ 6, 12, 18 ]
 * ```
 */
export class Graph implements Disposable {
  /** The device of the stream that was captured. */
  readonly context: DeviceContext;
  /** How many operations it has; a graph launched while it was captured counts as one. */
  readonly nodeCount: number;
  readonly #closers: GraphCloser[] = [];
  readonly #launchListeners: ((stream: Stream) => void)[] = [];
  readonly #children: Graph[];
  readonly #streams = new Set<Stream>();
  #id: number;
  #lastStream: Stream | undefined;
  #holders = 1;
  #disposed = false;

  private constructor(context: DeviceContext, id: number, children: Iterable<Graph>) {
    this.context = context;
    this.nodeCount = graphNodeCount(context.library, id);
    this.#id = id;
    this.#children = [...children];
    context.retain();
  }

  /**
   * Ends a capture and makes its graph.
   *
   * @internal
   */
  static ofCapture(capture: RunningCapture): Graph {
    const { context, id } = capture.stream;
    const { library, ordinal } = context;
    const handle = endCapture(library, ordinal, id);
    try {
      return new Graph(context, handle, capture.children);
    } catch (error) {
      giveBackAfterFailure({
        [Symbol.dispose]: () => destroyGraph(library, ordinal, handle),
      });
      throw error;
    }
  }

  /** The handle of the native library, for the layers above. */
  get id(): number {
    if (this.#disposed) throw new TypeError("Cannot use a graph as it is disposed");
    return this.#id;
  }

  /** Whether the graph is disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Enqueues all of its work, behind the stream's own and behind the launch before this one, on
   * whichever stream that was. On a stream that is being captured it becomes part of that graph.
   *
   * @param stream Of this or another device of the same library; the device's default stream if
   * none is given.
   * @throws {TypeError} If the graph or the stream is disposed, or of another library.
   */
  launch(stream: Stream = defaultStream(this.context)): void {
    const { library, label } = this.context;
    requireInstance(stream, Stream, "stream", "launch a graph");
    if (stream.context.library !== library) {
      throw new TypeError(
        `Cannot launch a graph of ${label} on a stream of ${stream.context.label} as they belong to different libraries`,
      );
    }
    const graph = this.id;
    const capture = captureOf(stream);
    const { ordinal } = stream.context;
    const heard = listenersOf(stream.context);
    if (heard === undefined) launchGraph(library, ordinal, stream.id, graph);
    else {
      const work = { kind: "graph", nodes: this.nodeCount } as const;
      enqueueHeard(heard, work, stream, launchGraph, library, ordinal, stream.id, graph);
    }
    if (capture !== undefined) this.#becomePartOf(capture);
    else if (stream !== this.#lastStream) {
      this.#lastStream = stream;
      this.#tellOfLaunch(stream);
    }
  }

  #tellOfLaunch(stream: Stream): void {
    for (const launched of this.#launchListeners) launched(stream);
    for (const child of this.#children) child.#tellOfLaunch(stream);
  }

  #becomePartOf(capture: RunningCapture): void {
    if (capture.children.has(this)) return;
    capture.children.add(this);
    this.#holders++;
  }

  /**
   * Registers who is told of each stream that the graph, or one that it is part of, is launched on;
   * not again where the last launch was on the same.
   *
   * @internal For the layers above, which keep memory for it.
   */
  onLaunch(launched: (stream: Stream) => void): void {
    this.#launchListeners.push(launched);
  }

  /**
   * Registers what is to be given back with the graph. Launches are one after another, so that
   * what is enqueued on the streams that it is told comes after all of them.
   *
   * @internal For the layers above, which keep memory for it.
   */
  onDispose(close: GraphCloser): void {
    this.#closers.push(close);
  }

  /** Forgets the graph; launches of it still complete, and graphs that it is part of keep it. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.release();
    this.#disposed = true;
  }

  /**
   * Lets go once: the last of its owner and of the graphs that it is part of gives it back.
   *
   * @param streams Where the graph that lets go was last launched.
   * @internal
   */
  release(streams: Iterable<Stream> = []): void {
    for (const stream of streams) this.#streams.add(stream);
    if (this.#holders > 1) {
      this.#holders--;
      return;
    }
    if (this.#holders === 1) this.#close();
  }

  #close(): void {
    if (this.#lastStream !== undefined) this.#streams.add(this.#lastStream);
    const { library, ordinal } = this.context;
    giveBack(
      this.context,
      () =>
        // One that fails stays, for the next attempt.
        takeSteps([
          ...this.#closers.toReversed().map((close) => () => {
            close(this.#streams);
            this.#closers.pop();
          }),
          ...this.#children.toReversed().map((child) => () => {
            child.release(this.#streams);
            this.#children.pop();
          }),
          () => destroyGraph(library, ordinal, this.#id),
        ]),
      () => {
        this.#holders = 0;
        this.context.release();
      },
    );
  }
}
