/**
 * From a file, which is in memory already, to the device: how near each way comes to the copy from
 * pinned memory alone, which none can beat. Bytes are counted once.
 */

import { closeFile, openFile, readFile } from "../src/ffi/native_file.ts";
import { PinnedSlab } from "../src/memory/staging.ts";
import { uploadFileInto } from "../src/memory/upload/file_upload.ts";
import { UploadRing } from "../src/memory/upload/upload_ring.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { OVERLAP_GROUP } from "./report/measurement.ts";
import { measure, scaled } from "./support/measure.ts";

const MIB = 2 ** 20;
const bytes = scaled(ON_GPU ? 2 ** 30 : 2 ** 28, 16 * MIB);
const group = { group: `file to device, ${bytes / MIB} MiB`, bytes };

const path = makeFile();
globalThis.addEventListener("unload", () => Deno.removeSync(path));

/** A file of different pages, which no file system can share. */
function makeFile(): string {
  const path = Deno.makeTempFileSync({ prefix: "gridstride-bench-" });
  using file = Deno.openSync(path, { write: true });
  const block = new Uint32Array(MIB / 4);
  for (let offset = 0; offset < bytes; offset += MIB) {
    for (let page = 0; page < block.length; page += 1024) block[page] = offset + page;
    file.writeSync(new Uint8Array(block.buffer));
  }
  return path;
}

const buffer = device.allocate("uint8", bytes, { fill: 1 });
const slotBytes = 8 * MIB;
const pinned = device.allocatePinned("uint8", bytes);

measure("from pinned memory, without reading", { ...group, baseline: true }, async () => {
  pinned.copyTo(buffer);
  await device.stream.done();
});

measure("Deno.readFile(), then copyFrom()", group, async () => {
  buffer.copyFrom(await Deno.readFile(path));
  await device.stream.done();
});

measure("Deno.FsFile.read() into pinned memory, then copyTo()", group, async () => {
  await readPart(0, bytes);
  pinned.copyTo(buffer);
  await device.stream.done();
});

/** Reads a part of the file into the same part of the pinned memory. */
async function readPart(start: number, end: number): Promise<void> {
  using file = await Deno.open(path);
  await file.seek(start, Deno.SeekMode.Start);
  for (let offset = start; offset < end;) {
    offset += (await file.read(pinned.array.subarray(offset, end)))!;
  }
}

for (const readers of [1, 2, 4, 8]) {
  measure(`Deno.FsFile.read() in parts, each then copied, ${readers} readers`, group, async () => {
    const parts = Iterator.from(
      Array.from({ length: bytes / slotBytes }, (_, part) => part * slotBytes),
    );
    const reader = async () => {
      for (let next = parts.next(); !next.done; next = parts.next()) {
        await readPart(next.value, next.value + slotBytes);
        const offset = next.value;
        pinned.copyTo(buffer, { offset, deviceOffset: offset, length: slotBytes });
      }
    };
    await Promise.all(Array.from({ length: readers }, reader));
    await device.stream.done();
  });
}

for (const readers of [1, 2, 4, 8]) {
  const ring = UploadRing.create(device.context, { slots: readers + 4, slotBytes, readers });
  measure(
    `uploadFileInto(), ${readers} readers`,
    group,
    async () => await uploadFileInto(buffer, path, { ring }),
  );
}

// Reading alone and copying alone, in the same parts, with as many threads and slots as the upload.
const READERS = 4;
const slots = Array.from({ length: 8 }, () => new PinnedSlab(device.context, slotBytes));
const slotBuffer = device.allocatePinned("uint8", slots.length * slotBytes);
const overlapRing = UploadRing.create(device.context, {
  slots: slots.length,
  slotBytes,
  readers: READERS,
});

async function readAlone(): Promise<void> {
  const { library } = device.context;
  const file = openFile(library, path);
  let next = 0;
  const read = async () => {
    while (next < bytes) {
      const start = next;
      next += slotBytes;
      const { handle } = slots[start / slotBytes % slots.length]!;
      await readFile(library, file, start, { pinned: handle, offset: 0 }, slotBytes);
    }
  };
  await Promise.all(Array.from({ length: READERS }, read));
  closeFile(library, file);
}

async function copyAlone(): Promise<void> {
  for (let start = 0; start < bytes; start += slotBytes) {
    const offset = start % slotBuffer.length;
    slotBuffer.copyTo(buffer, { offset, deviceOffset: start, length: slotBytes });
  }
  await device.stream.done();
}

const overlap = {
  "reading alone, 4 readers": readAlone,
  "copying alone, from 8 slots": copyAlone,
  "reading and copying: uploadFileInto()": () =>
    uploadFileInto(buffer, path, { ring: overlapRing }),
};
for (const [title, body] of Object.entries(overlap)) {
  const options = { group: `${OVERLAP_GROUP}, ${bytes / MIB} MiB`, bytes };
  measure(title, options, async () => await body());
}
