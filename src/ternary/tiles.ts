/**
 * The tiles of bitnet.cpp's lookup formats.
 *
 * @module
 */

import { cannot, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { TernaryTile } from "./layouts.ts";

/**
 * Tiles by rows × columns: `[bm, bk, bmm]` for `tl1`, `[bm, bk]` for `tl2`, of the presets of
 * microsoft/BitNet 16da220 (preset_kernels, kernel_config_tl1.ini and kernel_config_tl2.ini). The
 * preset of `tl2` for 4096 × 1536 has parts of 64 rows, which its converter cannot write.
 */
const PRESETS: Readonly<
  Record<string, readonly [tl1: readonly number[], tl2?: readonly number[]]>
> = {
  "1024 × 4096": [[128, 64, 64], [256, 96]],
  "1536 × 1536": [[128, 64, 64], [128, 192]],
  "1536 × 4096": [[256, 128, 32], [256, 96]],
  "3200 × 3200": [[320, 128, 64], [320, 96]],
  "3200 × 8640": [[160, 64, 32], [160, 96]],
  "4096 × 1536": [[256, 128, 32]],
  "4096 × 4096": [[128, 64, 32], [128, 96]],
  "4096 × 14336": [[256, 128, 32], [128, 96]],
  "8640 × 3200": [[320, 64, 32], [320, 96]],
  "14336 × 4096": [[256, 128, 64], [256, 96]],
};

/** The tile of a matrix: the given one, or that of the preset. */
export function tileFor(
  format: "tl1" | "tl2",
  rows: number,
  columns: number,
  given: TernaryTile | undefined,
  action: string,
): TernaryTile {
  const preset = PRESETS[`${rows} × ${columns}`]?.[format === "tl1" ? 0 : 1];
  if (given === undefined && preset === undefined) {
    throw new TypeError(
      `${cannot(action)} as options.tile must be the tile of bitnet.cpp's kernel_config.ini, ` +
        `{ bm, bk, bmm }: there is no preset of ${format} for ${rows} × ${columns}`,
    );
  }
  const tile = given ?? { bm: preset![0]!, bk: preset![1]!, bmm: preset![2] ?? 32 };
  requireObject(tile, "options.tile", action);
  const { bm, bk, bmm } = tile;
  const require = (isRight: boolean, name: "bm" | "bk" | "bmm", allowed: string) => {
    if (isRight) return;
    throw new RangeError(
      `${cannot(action)} as options.tile.${name} must be ${allowed}: it is ${
        describeValue(tile[name])
      }`,
    );
  };
  const isMultiple = (value: number, of: number) => of > 0 && value > 0 && value % of === 0;
  require(
    bmm === 32 || (bmm === 64 && format === "tl1"),
    "bmm",
    format === "tl1" ? "32 or 64" : "32",
  );
  require(
    isMultiple(bm, bmm) && rows % bm === 0,
    "bm",
    `a multiple of ${bmm} that divides ${rows} rows`,
  );
  if (format === "tl1") {
    const part = 256 / bmm;
    require(
      isMultiple(bk, part) && columns % bk === 0,
      "bk",
      `a multiple of ${part} that divides ${columns} columns`,
    );
  } else {
    require(
      isMultiple(bk, 24) && columns % bk % 32 === 0,
      "bk",
      `a multiple of 24 that leaves a multiple of 32 of ${columns} columns`,
    );
  }
  return tile;
}
