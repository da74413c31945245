/**
 * Operations that make pools of memory grow, wait and shrink, for `fault_injection_test.ts`.
 *
 * @module
 */

import { MemoryManager, MemoryPool, type MemoryPoolOptions } from "../../mod.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { type Fixture, keepBusy, type Operation } from "./fault_injection_fixture.ts";
import { poolOfDevice } from "../../src/memory/pool/memory_pool.ts";

const MIB = 2 ** 20;

/** Room for one rounded block of 4 MiB: a second one has to wait. */
const ONE_BLOCK: MemoryPoolOptions = { maxPoolSize: 6 * MIB };

/**
 * Makes a pool that ends with the stack, at the second attempt if the first fails; the failure is
 * thrown.
 */
function usePool({ device }: Fixture, stack: DisposableStack, options: MemoryPoolOptions) {
  const pool = new MemoryPool(device, options);
  stack.defer(() => {
    // A pool does not wait for the streams of a device that counts as lost.
    device.doneSync();
    try {
      pool[Symbol.dispose]();
    } catch (error) {
      pool[Symbol.dispose]();
      throw error;
    }
  });
  return pool;
}

/** A block that one stream still uses when another wants its memory. */
function contend(fixture: Fixture, pool: MemoryPool): void {
  keepBusy(fixture);
  pool.allocate("uint8", 4 * MIB, { stream: fixture.stream }).free();
}

/** Operations on pools of mapped or plain memory. */
function poolOperations(kind: string, options: MemoryPoolOptions): Record<string, Operation> {
  const pool = `a pool of ${kind} memory`;
  return {
    [`${pool} that grows`]: (fixture, stack) => {
      const pool = usePool(fixture, stack, options);
      stack.use(pool.allocate("uint8", 100));
      stack.use(pool.allocate("uint8", 3 * MIB, { alignment: 4096 }));
    },
    [`${pool} that preallocates`]: (fixture, stack) =>
      void usePool(fixture, stack, { ...options, initialSize: 4 * MIB }),
    [`${pool} that is emptied`]: (fixture, stack) => {
      const pool = usePool(fixture, stack, options);
      pool.allocate("uint8", 3 * MIB).free();
      pool.clearCache();
    },
    [`${pool} that waits for another stream`]: (fixture, stack) => {
      const pool = usePool(fixture, stack, { ...options, ...ONE_BLOCK });
      contend(fixture, pool);
      stack.use(pool.allocate("uint8", 4 * MIB));
    },
    [`${pool} that waits for another stream asynchronously`]: async (fixture, stack) => {
      const pool = usePool(fixture, stack, { ...options, ...ONE_BLOCK });
      contend(fixture, pool);
      stack.use(await pool.allocateAsync("uint8", 4 * MIB));
    },
    [`${pool} with blocks in two streams`]: (fixture, stack) => {
      const pool = usePool(fixture, stack, options);
      using buffer = pool.allocate("float32", 1000, { stream: fixture.stream });
      fixture.device.kernels.fill(buffer, 1);
      buffer.free();
      pool.clearCache();
    },
    [`${pool} that grows while a stream is captured`]: (fixture, stack) => {
      const pool = usePool(fixture, stack, options);
      const { device, stream } = fixture;
      stack.use(stream.capture(() => {
        using inside = pool.allocate("float32", MIB, { stream });
        device.kernels.fill(inside, 1, { stream });
      })).launch(stream);
    },
  };
}

/** Operations by name. */
export const POOL_OPERATIONS: Readonly<Record<string, Operation>> = {
  ...poolOperations("mapped", {}),
  ...poolOperations("plain", { virtualMemory: false }),
  "device.allocate beyond the memory of the pool": ({ device }, stack) => {
    stack.defer(() => poolOfDevice(device.context).clearCache());
    stack.use(device.allocate("uint8", 3 * MIB));
  },
  "device.uploadFile": async (fixture) => {
    using directory = new TemporaryDirectory();
    const path = directory.file(new Uint8Array(10_000));
    keepBusy(fixture);
    return await fixture.device.uploadFile(path, { stream: fixture.stream });
  },
  "a manager that allocates": ({ device }) => new MemoryManager(device).allocate("uint8", 1000),
  "a manager that allocates past its pool": ({ device }) =>
    new MemoryManager(device).pool.allocateDirect("uint8", 1000),
};

/** Makes pools and their memory by name. */
export const POOL_RESOURCES: Readonly<Record<string, (fixture: Fixture) => Disposable>> = {
  "a pool of mapped memory": (fixture) => usedPool(fixture, {}),
  "a pool of plain memory": (fixture) => usedPool(fixture, { virtualMemory: false }),
  "memory past any pool": ({ device }) =>
    poolOfDevice(device.context).allocateDirect("uint8", 1000),
};

/** A pool with freed memory of two streams. */
function usedPool({ device, stream }: Fixture, options: MemoryPoolOptions): MemoryPool {
  const pool = new MemoryPool(device, options);
  pool.allocate("uint8", 3 * MIB, { stream }).free();
  pool.allocate("uint8", 100).free();
  pool.allocate("uint8", 3 * MIB).free();
  return pool;
}
