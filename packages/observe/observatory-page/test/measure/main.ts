// node test/measure/main.ts [MESSAGES]: scrolls 100,000 messages, or as many as said, in Chromium and prints the frames a second.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPage, noChromium, startChromium, visit } from '../chromium.ts';
import { standInContract } from '../stand-in/contract.ts';
import { StandIn } from '../stand-in/server.ts';

const missing = noChromium();
if (missing !== undefined) throw new Error(missing);

const wanted = Number(process.argv[2] ?? 100_000);
/** How far each frame scrolls, in pixels: 23 rows. */
const stepPixels = 600;

const folder = await mkdtemp(join(tmpdir(), 'observatory-page-'));
const standIn = new StandIn({ page: folder, millionPods: 2_000, contract: standInContract });
try {
  await buildPage(folder);
  const browser = await startChromium();
  try {
    const { page } = await visit(await browser.newContext(), `${await standIn.listen(0)}#/million/messages`);
    await page.locator('.grid-row').first().waitFor();
    const { frames, seconds, slowestMs, waits } = await page.evaluate(scroll, { wanted, stepPixels });
    const rate = (frames / seconds).toFixed(1);
    console.log(
      `${wanted} messages in ${seconds.toFixed(1)} s: ${rate} frames/s, the slowest of 99 % ${slowestMs.toFixed(0)} ms, ${waits} waited for a page`,
    );
  } finally {
    await browser.close();
  }
} finally {
  standIn.close();
  await rm(folder, { recursive: true, force: true });
}

/** Runs in the page: scrolls on with each frame, as a user who holds the wheel does. */
async function scroll(options: { wanted: number; stepPixels: number }) {
  const list = document.querySelector('[role=grid]');
  if (list === null) throw new Error('the page has no list');
  const frame = (): Promise<number> => new Promise((done) => requestAnimationFrame(done));
  const rows = (): number => Number(list.getAttribute('aria-rowcount')) - 1;
  const times: number[] = [];
  let waits = 0;
  const begin = await frame();
  let last = begin;
  while (rows() < options.wanted || list.scrollTop < options.wanted * 26) {
    const before = list.scrollTop;
    list.scrollTop = before + options.stepPixels;
    if (list.scrollTop === before) waits += 1;
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  times.sort((a, b) => a - b);
  return {
    frames: times.length,
    seconds: (last - begin) / 1000,
    slowestMs: times[Math.floor(times.length * 0.99)] ?? 0,
    waits,
  };
}
