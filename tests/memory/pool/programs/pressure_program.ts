/**
 * Two isolates that want most of one device's memory each, in turn. Started by
 * `isolates_test.ts` with a device of 256 MiB; the worker is this file as well.
 *
 * @module
 */

import { openDevice, OutOfMemoryError } from "../../../../mod.ts";

const BYTES = 160 * 2 ** 20;

/** The result of an allocation, and the pool after it. */
interface Attempt {
  readonly served: boolean;
  readonly reserved: number;
}

// The worker goes on after its module has run, and so ends the device itself.
const device = openDevice("host:0");

function attempt(): Attempt {
  let served = true;
  try {
    device.allocate("uint8", BYTES).free();
  } catch (error) {
    if (!(error instanceof OutOfMemoryError)) throw error;
    served = false;
  }
  return { served, reserved: device.pool.memoryReserved() };
}

/**
 * What any program does: the library tells of the pressure at a launch, the pool gives back at the
 * next call what no stream uses, and at a later one the rest.
 */
async function work(): Promise<Attempt["reserved"]> {
  device.allocate("uint8", 100, { fill: 1 }).free();
  device.allocate("uint8", 100).free();
  await device.stream.done();
  device.allocate("uint8", 100).free();
  return device.pool.memoryReserved();
}

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<string>) => Promise<void>) | null;
  postMessage(message: unknown): void;
};

/** The worker allocates and works on request. */
function serve(): void {
  scope.onmessage = async ({ data }) => {
    if (data === "end") {
      device[Symbol.dispose]();
      scope.postMessage("ended");
      return;
    }
    scope.postMessage(data === "try" ? attempt() : { reserved: await work() });
  };
  scope.postMessage("ready");
}

async function main(): Promise<void> {
  const worker = new Worker(import.meta.url, { type: "module", name: "worker" });
  const answers: ((data: unknown) => void)[] = [];
  worker.onmessage = ({ data }) => answers.shift()!(data);
  const answer = () => new Promise<unknown>((resolve) => answers.push(resolve));
  const ask = (question: string) => {
    const told = answer();
    worker.postMessage(question);
    return told;
  };
  await answer();
  const steps: Record<string, unknown> = {};
  steps["ours"] = attempt();
  steps["theirs, while we hold free memory"] = await ask("try");
  steps["ours after our next work"] = { reserved: await work() };
  steps["theirs, when we have given it back"] = await ask("try");
  steps["ours, while they hold free memory"] = attempt();
  steps["theirs after their next work"] = await ask("work");
  steps["ours, when they have given it back"] = attempt();
  await ask("end");
  worker.terminate();
  device[Symbol.dispose]();
  console.log(JSON.stringify(steps));
}

if (self.name === "worker") serve();
else await main();
