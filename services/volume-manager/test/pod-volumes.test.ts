import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type PodVolumes as PodVolumesFact, podVolumes } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import type { VolumePlan } from '@kubus/volume';
import { PodVolumes, type PodVolumesWish } from '../src/pod-volumes.ts';
import type { VolumeHost } from '../src/ports.ts';

const ref = { namespace: 'default', name: 'a', uid: 'a' };
const plan = (name: string, gid?: number): VolumePlan => ({
  name,
  step: { kind: 'host', path: `/srv/${name}`, type: '' },
  ...(gid !== undefined && { gid }),
});

/** A pod's volumes on a machine that does as it is told, and what is told of them. */
function start(over: Partial<VolumeHost> = {}): { pod: PodVolumes; told: () => Promise<PodVolumesFact | undefined> } {
  const clock = new ManualClock();
  const broker = new LocalBroker('node0');
  const facts = broker.join('pod-workers', clock).bus.reader(podVolumes);
  const pod = new PodVolumes(
    'a',
    {
      clock,
      logger: silentLogger,
      records: new MemoryRecords(),
      host: {
        make: (step) => Promise.resolve({ volume: { hostPath: 'path' in step ? step.path : '' } }),
        find: () => Promise.resolve(undefined),
        subPath: () => Promise.reject(new Error('not asked for')),
        usage: () => Promise.resolve(undefined),
        remove: () => Promise.resolve(),
        pods: () => Promise.resolve([]),
        ...over,
      },
      facts: broker.join('volume-manager', clock).bus.owner(podVolumes),
      events: { record: () => undefined },
    },
    { recorded: false, onRest: () => undefined },
  );
  const told = async () => {
    for (let i = 0; i < 5; i++) await settled();
    return facts.get('a')?.value;
  };
  return { pod, told };
}

/** What is told of a pod with these volumes. */
async function toldOf(plans: readonly VolumePlan[]): Promise<PodVolumesFact | undefined> {
  const { pod, told } = start();
  pod.update({ ref, goal: 'make', plans }, []);
  const fact = await told();
  await pod.stop();
  return fact;
}

test('the groups that volumes ask for are told with them, each once', async () => {
  expect(await toldOf([plan('a', 1234), plan('b'), plan('c', 7), plan('d', 1234)])).toMatchObject({
    ready: true,
    supplementalGroups: [1234, 7],
  });
  expect(await toldOf([plan('a')])).toEqual({ ref, ready: true, volumes: { a: { hostPath: '/srv/a' } } });
});

test.each([
  ['ends well', []],
  ['fails, whatever it has removed', [new Error('busy')]],
])('a pod that is wanted again during a removal that %s has its volumes when they are made anew', async (_, errors) => {
  const goesOn = Promise.withResolvers<undefined>();
  let made = 0;
  const { pod, told } = start({
    make: () => {
      made += 1;
      return Promise.resolve({ volume: { hostPath: '/v' } });
    },
    remove: async () => {
      await goesOn.promise;
      for (const error of errors) throw error;
    },
  });
  const step = { kind: 'memory', path: '/v', type: 'tmpfs', options: [] } as const;
  const wish: PodVolumesWish = { ref, goal: 'make', plans: [{ name: 'v', step }] };
  pod.update(wish, []);
  expect(await told()).toMatchObject({ ready: true });
  pod.update({ ...wish, goal: 'remove' }, []);
  await told();
  pod.update(wish, []);
  expect(await told()).toMatchObject({ ready: false });
  expect(made).toBe(1);
  goesOn.resolve(undefined);
  expect(await told()).toMatchObject({ ready: true });
  expect(made).toBe(2);
  await pod.stop();
});
