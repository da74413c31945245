import { assertEquals, assertMatch } from "@std/assert";
import { runProgram } from "../support/subprocess.ts";

const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
using device = openDevice();
using stream = device.createStream();
using x = device.upload(new Float32Array([1, 2, 3]));
device.kernels.scale(x, 2, x, { stream });
await stream.done();
stream.capture(() => device.kernels.scale(x, 2, x, { stream })).launch(stream);
await stream.done();
`;

/** The records of the program at a level, by level and category, without numbers. */
async function recordsAt(level: string): Promise<string[]> {
  const { stderr } = await runProgram(PROGRAM, { environment: { GRIDSTRIDE_LOG: level } });
  return stderr.trim().split("\n").filter((line) => line.includes("gridstride."));
}

Deno.test("GRIDSTRIDE_LOG shows streams at debug, and each operation at trace", async () => {
  const debug = await recordsAt("debug");
  assertEquals(debug.filter((line) => line.startsWith("[trace]")), []);
  const streams = debug.filter((line) => line.includes("gridstride.stream: "));
  assertEquals(
    streams.filter((line) => line.endsWith("opened")).length >= 2,
    true,
    debug.join("\n"),
  );
  assertEquals(streams.some((line) => line.endsWith("closed")), true);
  const trace = (await recordsAt("trace")).join("\n");
  for (
    const record of [
      /\[trace\] gridstride.kernels: \S*scale\S* of 3 elements: grid 1, block \d+, by default/,
      /\[trace\] gridstride.launch: \S+: \S*scale\S* on stream \d+: grid \[ 1, 1, 1 \]/,
      /\[trace\] gridstride.stream: \S+: copy of 12 bytes on stream \d+: hostToDevice/,
      /\[trace\] gridstride.stream: \S+: graph of 1 operations on stream \d+/,
      /\[debug\] gridstride.stream: \S+: stream \d+ opened/,
    ]
  ) assertMatch(trace, record);
});
