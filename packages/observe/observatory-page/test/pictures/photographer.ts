import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { startChromium, visit } from '../chromium.ts';

/** Limit of the size of pictures in the repository. */
const MAX_BYTES = 150 * 1024;

const size = { width: 1280, height: 760 };

/** Opens views of the page and keeps pictures of them. */
export class Photographer {
  readonly #browser: Browser;
  readonly #address: string;
  readonly #folder: string;

  /** @param address of the page, with its token. */
  static async start(address: string, folder: string): Promise<Photographer> {
    await mkdir(folder, { recursive: true });
    return new Photographer(await startChromium(), address, folder);
  }

  private constructor(browser: Browser, address: string, folder: string) {
    this.#browser = browser;
    this.#address = address;
    this.#folder = folder;
  }

  /**
   * Writes `<name>.png` of a view as soon as the awaited element is visible.
   *
   * @throws Error if the page has console errors, or the picture is too large.
   */
  async take(name: string, route: string, awaited: (page: Page) => Locator): Promise<void> {
    const context = await this.#browser.newContext({ colorScheme: 'light', viewport: size, reducedMotion: 'reduce' });
    try {
      const { page, complaints } = await visit(context, `${this.#address}${route}`);
      await awaited(page).waitFor();
      await page.getByText(/^live, /).waitFor();
      await page.locator('.main .waiting').waitFor({ state: 'detached' });
      // A small palette takes a third of the bytes without a visible difference.
      const png = await sharp(await page.screenshot())
        .png({ palette: true, effort: 10, compressionLevel: 9 })
        .toBuffer();
      if (complaints.length > 0) throw new Error(`${name}: the page complains: ${complaints.join('; ')}`);
      if (png.length > MAX_BYTES) throw new Error(`${name}: the picture has ${png.length} bytes, ${MAX_BYTES} at most`);
      await writeFile(join(this.#folder, `${name}.png`), png);
      console.log(`${name}.png: ${Math.round(png.length / 1024)} KiB`);
    } finally {
      await context.close();
    }
  }

  async end(): Promise<void> {
    await this.#browser.close();
  }
}
