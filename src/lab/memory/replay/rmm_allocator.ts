/**
 * Resources of RMM as a replay drives them.
 *
 * Uses on other streams are the caller's to order, and stream 0 of a trace stands for the default
 * stream.
 *
 * @module
 */

import { type Holding, ModelAllocator } from "./model_allocator.ts";
import type { ReplayDevice } from "./replay_device.ts";
import { RMM_ALIGNMENT, type RmmResource } from "./rmm_resource.ts";
import type { IdlePart } from "./segment_part.ts";

interface RmmBlock extends Holding {
  readonly stream: number;
  readonly resource: RmmResource;
}

/** A request goes to the first resource that serves its size. */
export class RmmAllocator extends ModelAllocator<RmmBlock> {
  readonly #resources: readonly RmmResource[];

  /**
   * @param device Where memory comes from.
   * @param resources In the order of the sizes that they serve.
   */
  constructor(device: ReplayDevice, resources: readonly RmmResource[]) {
    super(device, RMM_ALIGNMENT);
    this.#resources = resources;
  }

  /** `allocate` */
  protected override take(bytes: number, stream: number): RmmBlock | undefined {
    const resource = this.#resources.find(({ largestBytes }) => bytes <= largestBytes)!;
    const part = resource.allocate(bytes, stream);
    return part && { part, stream, resource };
  }

  /** `deallocate` */
  protected override give({ part, stream, resource }: RmmBlock): void {
    resource.free(part, stream);
  }

  /** What the resources have in their lists. */
  protected override idle(): IdlePart[] {
    const free = this.#resources.flatMap((resource) => resource.freeBlocks());
    return free.map((part) => ({ ...part, state: "free" }));
  }
}
