import { expect, test } from '@jest/globals';
import { violations, visit } from './chromium.ts';
import { goTo, grid, inChromium, rows } from './page-rig.ts';

inChromium('what the node has left', (rig) => {
  test('is reached from the name of the node and by keyboard, and ranks the pods for the signal that is chosen', async () => {
    const { page, complaints } = await rig.open('/before/overview');
    await rows(page, 'Pods').first().waitFor();
    await page.getByRole('banner').getByRole('link', { name: 'node0' }).press('Enter');
    await page.waitForURL(/#\/before\/pressure$/);
    await goTo(page, 'o', /#\/before\/overview$/);
    await goTo(page, 'e', /#\/before\/pressure$/);
    await page.getByRole('heading', { name: 'For memory.available would go' }).waitFor();
    await page.getByText('The node is short: MemoryPressure.').waitFor();
    const memory = page.getByRole('region', { name: 'memory.available' });
    await memory.getByText('0.6 GiB of 7.6 GiB, -6.0 MiB/s').waitFor();
    await memory.getByText(/^reached in 1\smin 8\ss$/).waitFor();
    await memory.getByText(/^below it since \d\d:\d\d:\d\d$/).waitFor();
    const picture = memory.getByRole('img', {
      name: /from 55\s% to 8\.0\s% of the capacity; hard threshold 200\.0 MiB/,
    });
    expect(await picture.locator('.threshold-hard').count()).toBe(1);
    expect(await picture.locator('.threshold-soft').count()).toBe(1);
    expect(await picture.locator('.pressure-curve').getAttribute('d')).toMatch(/^M.*L/);

    const order = (await rows(page, 'Pods that would go').allTextContents()).slice(0, 3);
    expect(order.map((row) => /^(1|never|2)/.exec(row)?.[0])).toEqual(['1', 'never', '2']);
    await page.getByRole('button', { name: 'Rank pods for nodefs.available' }).press('Enter');
    await page.waitForURL(/pressure\?signal=nodefs\.available$/);
    await page.getByRole('heading', { name: 'For nodefs.available would go' }).waitFor();
    await page.keyboard.press('j');
    await grid(page, 'Pods that would go').press('Enter');
    await page.waitForURL(/#\/~live\/pods\/[0-9a-f-]+$/);
    expect(complaints).toEqual([]);
  });

  test.each([
    ['node-without-faults', 'The node has no thresholds'],
    ['files', 'There is no node that could be short of anything'],
  ] as const)('of %s is said in words', async (shows, words) => {
    const address = await rig.serve({ millionPods: 1, shows });
    const { page, complaints } = await visit(await rig.context(), `${address}/before/pressure`);
    await page.getByText(words).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
