/**
 * The same work in other libraries: reading what the scripts of `bench/peers/` print, and setting it
 * beside the figures.
 *
 * @module
 */

import type { Figure } from "./figure.ts";

/** A library that did the same work. */
export interface Peer {
  /** Its name. */
  readonly name: string;
  /** Its version. */
  readonly version: string;
  /** Nanoseconds of each work it did, by the names of {@linkcode SHARED_WORK}. */
  readonly nanoseconds: Readonly<Record<string, number>>;
  /** The fastest sample of each. */
  readonly fastest?: Readonly<Record<string, number>>;
}

/** What a script prints. */
export interface PeerResults {
  /** The libraries that were there. */
  readonly peers: readonly Peer[];
  /** The others, each with why. */
  readonly skipped: readonly string[];
}

/** Work that peers do too: its name, and which figure is about it. */
export interface SharedWork {
  /** The name that the scripts give it. */
  readonly name: string;
  /** The figure's area. */
  readonly area: string;
  /** How the figure's group begins. */
  readonly group: string;
  /** The figure's title. */
  readonly title: string;
}

const KERNELS = { area: "kernel", group: "kernels on buffers" };
/** The elements of tensors on the host device, as powers of two. */
export const TENSOR_POWERS: readonly number[] = [16, 18, 20, 22, 24];
/** The elements on a GPU, likewise. */
export const GPU_TENSOR_POWER = 26;
/** The elements of a row of softmax and layer norm. */
export const ROW_LENGTH = 1024;
const TENSOR_TITLES =
  "add,multiply,exp,tanh,sum,mean,transpose,softmax,layerNorm,new add,new transpose,fused chain";
const TENSORS = [...TENSOR_POWERS, GPU_TENSOR_POWER].map((power) => `2^${power}`);
const launch = (group: string) => ({ area: "launch", group });
const copy = (group: string) => ({ area: "copy", group });

/** All work that peers may do. */
export const SHARED_WORK: readonly SharedWork[] = [
  { ...launch("launch without arguments"), name: "launch", title: "kernel.launch()" },
  { ...launch("launch with four arguments"), name: "small axpy", title: "kernels.axpy()" },
  {
    ...launch("launch of a module's kernel with four arguments"),
    name: "launch axpy",
    title: "kernel.launch()",
  },
  ...["256 B", "4 KiB", "64 KiB", "1 MiB", "4 MiB"].map((size) => ({
    area: "pool",
    group: `allocate and free ${size}`,
    name: `allocate ${size}`,
    title: "allocate() and free()",
  })),
  ...["1 MiB", "8 MiB"].map((largest) => ({
    area: "pool",
    group: `free one of 1 000 live blocks of 512 B to ${largest}`,
    name: `replace up to ${largest}`,
    title: "allocate() and free()",
  })),
  { area: "stream", group: "record an event", name: "record event", title: "event.record()" },
  { ...copy("host to device, 256 MiB"), name: "copy from array", title: "from an array" },
  { ...copy("host to device, 256 MiB"), name: "copy from pinned", title: "from pinned memory" },
  { ...copy("device to host, 256 MiB"), name: "copy to array", title: "copyToSync() an array" },
  { ...copy("device to host, 256 MiB"), name: "copy to pinned", title: "to pinned memory" },
  { ...KERNELS, name: "copy", title: "copy" },
  { ...KERNELS, name: "fill float32", title: "fill float32" },
  { ...KERNELS, name: "scale float32", title: "scale float32" },
  { ...KERNELS, name: "add float32", title: "add float32" },
  { ...KERNELS, name: "multiply float32", title: "multiply float32" },
  { ...KERNELS, name: "sum float32", title: "sum float32" },
  { ...KERNELS, name: "max float32", title: "max float32" },
  { ...KERNELS, name: "moments float32", title: "moments float32" },
  { ...KERNELS, name: "add float64", title: "add float64" },
  { ...KERNELS, name: "sum float64", title: "sum float64" },
  { ...KERNELS, name: "add float16", title: "add float16" },
  { ...KERNELS, name: "sum float16", title: "sum float16" },
  ...TENSORS.flatMap((size) =>
    TENSOR_TITLES.split(",").map((title) => ({
      area: "tensor",
      group: `tensors of ${size} `,
      name: `tensor ${title} ${size}`,
      title,
    }))
  ),
];

/** Work of ours beside that of the peers. */
export interface PeerComparison {
  /** The name of the work. */
  readonly name: string;
  /** Our time in nanoseconds. */
  readonly nanoseconds: number;
  /** Each peer's time by ours, by the peer's name: above 1 we are faster. */
  readonly speedup: Readonly<Record<string, number>>;
}

/**
 * Reads what a script prints.
 *
 * @throws {Error} If a peer did work that no figure is about, or took no time for it.
 */
export function readPeerResults(json: string): PeerResults {
  const results: PeerResults = JSON.parse(json);
  const known = new Set(SHARED_WORK.map(({ name }) => name));
  for (const peer of results.peers) {
    for (const [work, nanoseconds] of Object.entries(peer.nanoseconds)) {
      if (!known.has(work) || !(nanoseconds > 0)) {
        throw new Error(`Cannot compare ${peer.name}'s ${JSON.stringify(work)}: ${nanoseconds} ns`);
      }
    }
  }
  return results;
}

/** What several scripts have found, as if it were one: a library may have done work in each. */
export function mergePeers(results: readonly PeerResults[]): PeerResults {
  const peers = Map.groupBy(results.flatMap(({ peers }) => peers), ({ name }) => name);
  return {
    peers: [...peers.values()].map((parts) => ({
      ...parts[0]!,
      nanoseconds: Object.assign({}, ...parts.map(({ nanoseconds }) => nanoseconds)),
      fastest: Object.assign({}, ...parts.map(({ fastest }) => fastest)),
    })),
    skipped: [...new Set(results.flatMap(({ skipped }) => skipped))],
  };
}

/** Sets the figures beside the peers, for all work that both have. */
export function comparePeers(
  figures: readonly Figure[],
  peers: readonly Peer[],
): PeerComparison[] {
  return SHARED_WORK.flatMap(({ name, area, group, title }) => {
    const figure = figures.find((figure) =>
      figure.area === area && figure.group.startsWith(group) && figure.title === title
    );
    const doing = peers.filter(({ nanoseconds }) => name in nanoseconds);
    if (figure === undefined || doing.length === 0) return [];
    const speedup = doing.map((peer) =>
      [peer.name, peer.nanoseconds[name]! / figure.nanoseconds] as const
    );
    return [{
      name,
      nanoseconds: figure.nanoseconds,
      speedup: Object.fromEntries(speedup),
    }];
  });
}
