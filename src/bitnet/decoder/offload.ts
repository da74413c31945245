/**
 * Layers whose matrices lie in memory of the host.
 *
 * @module
 */

import { PinnedBuffer } from "../../memory/pinned_buffer.ts";
import { defaultStream } from "../../stream/stream.ts";
import { weightsOfCodes } from "../../ternary/weights.ts";
import type { LayerWeights } from "./weights.ts";

/** The matrices of a layer, in the order of their use. */
export const MATRICES = ["queryKeyValue", "attentionOutput", "gateUp", "down"] as const;

/**
 * Moves the matrices of a layer to pinned memory. Before each use of the layer, its `fetch()` copies
 * them to the device, in the memory of another layer: that of the first one which is moved.
 *
 * Copies are in the stream of the products, because they take so much longer than these that it
 * would gain nothing to run both at once.
 *
 * @param layer Its matrices must not be used any more.
 * @param shared The layer that was moved first, undefined for that one itself.
 * @param own Owns the pinned memory.
 */
export async function offloadLayer(
  layer: LayerWeights,
  shared: LayerWeights | undefined,
  own: (memory: Disposable) => void,
): Promise<LayerWeights> {
  const { context } = layer.down;
  const stream = defaultStream(context);
  const moved = MATRICES.map((name) => {
    const { shape, codes, scale } = layer[name];
    const pinned = new PinnedBuffer(context, "uint8", codes.size);
    own(pinned);
    pinned.copyFrom(codes.buffer, { stream });
    const target = shared === undefined ? codes : shared[name].codes;
    const fetch = () => pinned.copyTo(target.buffer, { stream });
    return { name, fetch, weights: weightsOfCodes(shape, target, scale) };
  });
  await stream.done();
  if (shared !== undefined) MATRICES.forEach((name) => layer[name].codes.dispose());
  return {
    ...layer,
    ...Object.fromEntries(moved.map(({ name, weights }) => [name, weights])),
    fetch: () => moved.forEach(({ fetch }) => fetch()),
  };
}
