import { expect, test } from '@jest/globals';
import { violations } from './chromium.ts';
import { goTo, grid, inChromium, rows } from './page-rig.ts';

inChromium('the machine and who has what of it', (rig) => {
  test('is drawn as it is at the end, and at a moment that is chosen by keyboard', async () => {
    const { page, complaints } = await rig.open('/before/overview');
    await rows(page, 'Pods').first().waitFor();
    await goTo(page, 'n', /#\/before\/topology$/);
    await grid(page, 'Who has the CPUs').waitFor();
    expect(await rows(page, 'Who has the CPUs').count()).toBe(3);
    const second = page.getByRole('region', { name: 'NUMA node 1' });
    expect(await second.locator('.cpu').count()).toBe(8);
    expect(await second.locator('.cpu-own').allTextContents()).toEqual([
      expect.stringMatching(/^CPU 14 A: .* main$/),
      expect.stringMatching(/^CPU 15 A: .* main$/),
    ]);
    await rows(page, 'Devices of claims').getByText('Unhealthy (link is down)').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Earlier change' }).press('Enter');
    await page.waitForURL(/topology\?at=\d+$/);
    await grid(page, 'Devices of claims').waitFor({ state: 'detached' });
    expect(await second.locator('.cpu-own').count()).toBe(0);
    await page.getByRole('button', { name: 'Newest' }).press('Enter');
    await grid(page, 'Devices of claims').press('Enter');
    await page.waitForURL(/#\/before\/pods\/[0-9a-f-]+$/);
    expect(complaints).toEqual([]);
  });

  test('a pod lists the devices and claims that it has', async () => {
    const pods = (await rig.ask('GET', '/recordings/before/pods')) as { uid: string }[];
    const { page, complaints } = await rig.open(`/before/pods/${pods[0]?.uid}`);
    const list = page.getByRole('region', { name: 'Devices and claims' }).getByRole('listitem');
    await list.first().waitFor();
    expect(await list.allTextContents()).toEqual([
      'main: example.com/gpu gpu-1, NUMA node 1',
      'claim nic: node0/nic-0 of nic.example.com, Unhealthy (link is down)',
    ]);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
