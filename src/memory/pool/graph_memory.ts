/**
 * Memory that was allocated in a capture: it stays with the graph, as long as that lives.
 *
 * @module
 */

import type { MemorySpace } from "./memory_space.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolLifetime } from "./pool_core.ts";
import type { PoolEngine } from "./pool_engine.ts";

/** A graph, as far as memory is concerned. A `Graph` is one. */
export interface MemoryGraph {
  /** Registers who is told of each stream that the graph is launched on, before anything follows. */
  onLaunch(launched: (stream: MemoryStream) => void): void;
  /** Registers what is to happen when it goes; told of the streams whose work may still use it. */
  onDispose(close: (streams: Iterable<MemoryStream>) => void): void;
}

/** The memory of the graphs of a pool. */
export class GraphMemory {
  readonly #engine: PoolEngine;
  readonly #lifetime: PoolLifetime | undefined;
  readonly #spaces = new Set<MemorySpace>();

  /** No graph has any yet. */
  constructor(engine: PoolEngine, lifetime: PoolLifetime | undefined) {
    this.#engine = engine;
    this.#lifetime = lifetime;
  }

  /** Whether a space is a graph's. */
  owns(space: MemorySpace): boolean {
    return this.#spaces.has(space);
  }

  /** Ends a capture; where it has failed, its memory goes. */
  endCapture(token: object, graph: MemoryGraph | undefined): void {
    const space = this.#engine.streams.endCapture(token);
    if (space === undefined) return;
    if (graph === undefined) return this.#retire(space, []);
    this.#spaces.add(space);
    // A graph uses the pool as a buffer does.
    this.#lifetime?.retain();
    // A stream that the pool knows leaves a mark when it is disposed, so that the graph's memory can
    // wait for its work all the same.
    graph.onLaunch((stream) => void this.#engine.streams.slotOf(stream));
    graph.onDispose((streams) => this.#retireOfGraph(space, streams));
    this.#giveUnusedBack(space);
  }

  /**
   * Gives back what the space has grown by beyond what was captured: nobody allocates in it any more.
   */
  #giveUnusedBack(space: MemorySpace): void {
    if (this.#engine.upstream.lost) return;
    space.reclaim(Infinity);
    this.#engine.counters.recount();
  }

  #retireOfGraph(space: MemorySpace, streams: Iterable<MemoryStream>): void {
    // A graph whose end has failed tells of it again, and the space may be another's by then.
    if (!this.#spaces.delete(space)) return;
    try {
      this.#retire(space, streams);
    } finally {
      this.#lifetime?.release();
    }
  }

  /** A space goes when the streams that its graph was launched on have got this far. */
  #retire(space: MemorySpace, streams: Iterable<MemoryStream>): void {
    const { upstream, counters } = this.#engine;
    this.#engine.streams.retireSpace(space, streams);
    if (!upstream.capturing && !upstream.lost) this.#engine.streams.settle();
    counters.recount();
  }
}
