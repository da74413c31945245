import { assertEquals } from "@std/assert";
import { StrictUpstream } from "./strict_upstream.ts";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import { BlockRecording } from "../../../src/lab/memory/pool_recording.ts";
import { poolSettings } from "./model/pool_settings.ts";

Deno.test("a stream does not keep a closed pool", () => {
  const upstream = new StrictUpstream();
  const [stream, other] = [upstream.createStream(), upstream.createStream()];
  for (let count = 0; count < 3; count++) {
    const core = new BlockPool(upstream, poolSettings());
    const block = core.allocate(1000, stream);
    core.use(block, other);
    core.free(block);
    assertEquals([stream.listeners, other.listeners], [1, 1]);
    core.close();
    assertEquals([stream.listeners, other.listeners], [0, 0]);
  }
});

Deno.test("a stream does not keep a recording", () => {
  const upstream = new StrictUpstream();
  const stream = upstream.createStream();
  const core = new BlockPool(upstream, poolSettings());
  for (let count = 0; count < 3; count++) {
    const recording = new BlockRecording(core, "a");
    core.free(core.allocate(1000, stream));
    recording.stop();
    assertEquals(stream.listeners, 1, "the pool's own");
  }
  core.close();
});
