import { expect, test } from '@jest/globals';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { evictionSchema } from '../src/eviction-config.ts';
import { nodeResources } from '../src/index.ts';

test('the resources of the machine are read, also before the pods folder exists', () => {
  const pods = { root: join(tmpdir(), 'not', 'made', 'yet'), max: 7 } as Parameters<typeof nodeResources>[0]['pods'];
  const eviction = evictionSchema.parse({});
  const all = nodeResources({ pods, eviction, reserved: { system: {}, kube: {}, evictionHard: {} } });
  expect(all).toMatchObject({ cpu: String(cpus().length), pods: '7' });
  expect(all['memory']).toMatch(/^\d+(Ki|Mi|Gi)$/);
  expect(all['ephemeral-storage']).toMatch(/^\d+(Ki|Mi|Gi|Ti)$/);
  const reserved = { system: { cpu: '100m' }, kube: { cpu: String(cpus().length - 1) }, evictionHard: {} };
  expect(nodeResources({ pods, eviction, reserved })['cpu']).toBe('900m');
  const without = nodeResources({ pods, reserved, eviction: { ...eviction, storageLimits: false } });
  expect(Object.keys(all).filter((name) => !Object.hasOwn(without, name))).toEqual(['ephemeral-storage']);
});
