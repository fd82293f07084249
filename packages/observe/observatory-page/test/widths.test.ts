// Every view on a telephone, a tablet and a large screen, light and dark.
import { expect, test } from '@jest/globals';
import { violations } from './chromium.ts';
import { inChromium, rows, settled } from './page-rig.ts';

const widths = [
  [420, 860],
  [1024, 720],
  [1920, 1080],
] as const;

inChromium('the views', (rig) => {
  test.each(
    (['light', 'dark'] as const).flatMap((theme) => widths.map(([width, height]) => [width, theme, height] as const)),
  )('fit into %d pixels in %s, and are accessible', async (width, theme, height) => {
    const pods = (await rig.ask('GET', '/recordings/before/pods')) as { uid: string; state: string }[];
    const failed = pods.find(({ state }) => state === 'failed')?.uid ?? '';
    const { page, complaints } = await rig.open('/before/overview', theme);
    await page.setViewportSize({ width, height });
    for (const [route, list] of [
      ['/before/overview', 'Pods'],
      ['/before/pods?q=cart&pods=name', 'Pods'],
      [`/before/pods/${failed}`, 'Segments of the critical path of the start'],
      ['/before/messages?message=430', 'Messages'],
      ['/before/map', 'Messages between services'],
      ['/before/latency', 'Steps of the path'],
      ['/before/compare?right=slow-disk', 'Steps of both sides'],
      ['/before/pressure', 'Pods that would go'],
      ['/before/topology', 'Who has the CPUs'],
      ['/before/contract?type=worker.fact.status/1', 'Types of messages'],
    ] as const) {
      await page.goto(new URL(`#${route}`, rig.address).href);
      await rows(page, list).first().waitFor();
      await settled(page);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect([route, wider]).toEqual([route, 0]);
      const map = page.locator('.service-graph');
      const scrolled = (await map.count()) === 0 ? 0 : await map.evaluate((one) => one.scrollWidth - one.clientWidth);
      expect([route, scrolled]).toEqual([route, 0]);
      expect([route, await violations(page)]).toEqual([route, []]);
    }
    expect(complaints).toEqual([]);
  });
});
