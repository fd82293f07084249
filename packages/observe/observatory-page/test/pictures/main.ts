// node test/pictures/main.ts: makes the pictures of the documentation, on a temporary node with the pods of the tutorial.
// Needs root and Debian's Chromium.
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { noChromium } from '../chromium.ts';
import { Photographer } from './photographer.ts';
import { TutorialNode, checkout } from './tutorial-node.ts';
import { tutorialFiles } from './tutorial-files.ts';

const missing = noChromium();
if (missing !== undefined) throw new Error(missing);

const files = await tutorialFiles(join(checkout, 'docs/tutorial.md'));
const node = await TutorialNode.start();
try {
  const camera = await Photographer.start(await node.address(), join(checkout, 'docs/pictures'));
  try {
    for (const command of files) {
      await node.write(command);
      await node.allReady();
    }
    await take(camera);
  } finally {
    await camera.end();
  }
} finally {
  await node.stop();
}

async function take(camera: Photographer): Promise<void> {
  const live = await node.pods();
  const uidOf = (name: string): string => {
    const pod = live.find((one) => one.name === `${name}-${node.name}`);
    if (pod === undefined) throw new Error(`the node has no pod ${name}`);
    return pod.uid;
  };
  const shop = uidOf('shop');
  await camera.take('overview', '/~live/overview', (page) => rows(page, 'Pods').nth(6));
  const steps = (page: Page): Locator => rows(page, 'Segments of the critical path of the start').first();
  await camera.take('timeline', `/~live/pods/${shop}`, steps);
  const sandbox = await node.firstMessage(shop, 'runtime.cmd.RunPodSandbox/1');
  await camera.take('inspector', `/~live/pods/${shop}?message=${sandbox}`, (page) =>
    page.getByRole('heading', { name: 'Payload' }),
  );
  await camera.take('map', '/~live/map', (page) => rows(page, 'Messages between services').first());
  await camera.take('latency', '/~live/latency', (page) => rows(page, 'Steps of the path').first());
  const sides = `left=~live/${shop}&right=~live/${uidOf('shop-3')}`;
  await camera.take('compare', `/~live/compare?${sides}`, (page) => rows(page, 'Steps of both sides').first());
  await node.delayRuntimeFacts();
  await node.write('touch /tmp/pods/shop.yaml && rm /tmp/pods/shop-1.yaml');
  await camera.take('faults', '/~live/faults', (page) => page.getByRole('link', { name: /was applied [1-9]/ }));
}

function rows(page: Page, name: string): Locator {
  return page.getByRole('grid', { name, exact: true }).locator('.grid-row');
}
