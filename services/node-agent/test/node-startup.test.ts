import { expect, test } from '@jest/globals';
import { Metrics } from '@kubus/service-kit';
import { NodeStartup } from '../src/node/node-startup.ts';

async function shown(startup: NodeStartup): Promise<number[]> {
  const metrics = new Metrics({});
  startup.show(metrics);
  const families = await metrics.families();
  return families.flatMap((one) => (one.type === 'histogram' ? [] : one.samples.map(({ value }) => value)));
}

test('the startup of a new node is measured from the start of its machine, each step once', async () => {
  let now = 100_000;
  const startup = new NodeStartup({ now: () => now, uptimeSeconds: 60 });
  const steps = [() => startup.attempts(), () => startup.registered(), () => startup.ready()];
  expect(await shown(startup)).toEqual([0, 0, 0, 0, 0]);
  for (const step of [...steps, ...steps]) {
    now += 2_000;
    step();
  }
  expect(await shown(startup)).toEqual([60, 2, 2, 2, 66]);
});

test('the startup of a node that existed before is not measured', async () => {
  const startup = new NodeStartup({ now: () => 100_000, uptimeSeconds: 60 });
  startup.registered();
  startup.ready();
  expect(await shown(startup)).toEqual([0, 0, 0, 0, 0]);
});
