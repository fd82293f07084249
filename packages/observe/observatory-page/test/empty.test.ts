// What every list and view says when there is nothing in it: why, and what to do.
import { expect, test } from '@jest/globals';
import { violations, visit } from './chromium.ts';
import { grid, inChromium } from './page-rig.ts';

inChromium('without anything to show', (rig) => {
  test.each([
    ['overview', 'Messages appear here as soon as the node publishes them', './kubus up --manifests PATH'],
    ['pods', 'No pod has been seen yet', './kubus up --manifests PATH'],
    ['messages', 'Messages appear here as soon as the node publishes them', 'Nothing has been recorded yet'],
    ['map', 'No service has sent a message to another in this recording', './kubus up --manifests PATH'],
    ['latency', 'No pod has completed its start', 'Put a manifest into the node’s folder'],
    ['latency?what=stop', 'No pod has completed its stop', 'Remove a manifest from the node’s folder'],
    ['compare', 'Choose what to compare', './kubus record start NAME'],
    ['compare?left=~live&right=~live', 'No pod on either side has completed a step', 'Choose other recordings'],
    ['faults', 'No fault is active', 'Inject'],
  ])('of a node that has published nothing, %s says “%s”', async (view, why, then) => {
    const address = await rig.serve({ millionPods: 1, holds: 'no-messages' });
    const { page, complaints } = await visit(await rig.context(), `${address}/~live/${view}`);
    const main = page.locator('.main');
    await main.getByText(why).first().waitFor();
    await main.getByText(then).first().waitFor();
    await main.locator('.waiting').waitFor({ state: 'detached' });
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test.each(['overview', 'pods', 'messages', 'map', 'latency', 'recordings'])(
    'without a recording, %s says how to get one',
    async (view) => {
      const address = await rig.serve({ millionPods: 1, shows: 'files', holds: 'no-recordings' });
      const { page, complaints } = await visit(await rig.context(), `${address}/~live/${view}`);
      const main = page.locator('.main');
      await main.getByText('./kubus observatory FILE').waitFor();
      await main.getByText('./kubus up --observatory').first().waitFor();
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  test.each([
    ['pods?q=nobody', 'Pods', 'No pod matches. Clear the filter'],
    ['messages?type=nothing.at.all', 'Messages', 'No message matches the filters. Press Clear above'],
  ])('a filter that matches nothing says so: %s', async (view, list, text) => {
    const { page } = await rig.open(`/before/${view}`);
    await grid(page, list).getByText(text).waitFor();
  });

  test('a filter of the types that matches nothing says so', async () => {
    const { page } = await rig.open('/before/contract');
    await page.getByLabel('Filter the types').fill('nothing.at.all');
    await grid(page, 'Types of messages').getByText('No type matches the filter. Clear it').waitFor();
  });

  test.each([
    ['/gone/overview', 'There is no recording gone', 'Choose another one above'],
    ['/before/pods/nobody', 'there is no pod nobody', 'Try again'],
    ['/before/messages?message=999999999', 'there is no message 999999999', 'Try again'],
  ])('the address %s, which names nothing, says “%s”', async (route, why, then) => {
    const { page } = await rig.open(route);
    await page.getByText(why).waitFor();
    await page.getByText(then).waitFor();
  });
});
