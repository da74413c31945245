/**
 * Opening a page in a real browser.
 *
 * @module
 */

import { type Browser, chromium, type Page } from "playwright-core";

/** What a page did while it was open. */
export interface OpenPage {
  /** The page. */
  readonly page: Page;
  /** Errors that it threw or wrote to the console. */
  readonly errors: string[];
  /** Addresses that it asked for, its own first. */
  readonly requests: string[];
  /** Those of them that were refused, each with the reason. */
  readonly refusals: string[];
}

/** How a page is opened. */
export interface OpenOptions {
  /** The width of the window, in CSS pixels. */
  readonly width?: number;
  /** The height. */
  readonly height?: number;
  /** The colour scheme that the user prefers. */
  readonly scheme?: "light" | "dark";
}

const NAMES = ["chromium-headless-shell", "chromium", "google-chrome"];
const MACOS = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/** Where a browser is: the system's, else one that Playwright installed. */
function findBrowser(): string | undefined {
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  const programs = NAMES.flatMap((name) => folders.map((folder) => `${folder}/${name}`));
  return [...programs, MACOS, chromium.executablePath()].find((path) => isFile(path));
}

const executablePath = findBrowser();

/** Whether tests that need a browser cannot run; where `CI` is set they have to. */
export const isBrowserMissing: boolean = executablePath === undefined &&
  Deno.env.get("CI") !== "true";

if (isBrowserMissing) {
  console.warn(`Without one of ${NAMES.join(", ")} no page is opened: its tests are skipped`);
}

function launch(): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error(`Cannot open a browser as one of ${NAMES.join(", ")} must be installed`);
  }
  return chromium.launch({ executablePath });
}

/**
 * Waits until an expression is true in the page. Playwright's own waiting evaluates in the page
 * what the page's policy forbids it to.
 */
export async function until(page: Page, expression: string): Promise<void> {
  const end = performance.now() + 10_000;
  while (!await page.evaluate(`Boolean(${expression})`)) {
    if (performance.now() > end) throw new Error(`Waited in vain for ${expression}`);
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

/** Opens a page from a file, as a user would, and closes everything when `run` is done. */
export async function withPage(
  html: string,
  run: (open: OpenPage) => Promise<void>,
  { width = 1280, height = 1000, scheme = "light" }: OpenOptions = {},
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const browser = await launch();
  try {
    await Deno.writeTextFile(`${folder}/report.html`, html);
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
    const errors: string[] = [];
    const requests: string[] = [];
    const refusals: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    page.on("request", (request) => requests.push(request.url()));
    page.on("requestfailed", (request) => {
      refusals.push(`${request.url()} ${request.failure()?.errorText}`);
    });
    await page.goto(`file://${folder}/report.html`);
    await run({ page, errors, requests, refusals });
  } finally {
    await browser.close();
    await Deno.remove(folder, { recursive: true });
  }
}
