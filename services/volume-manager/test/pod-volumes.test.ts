import { expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type PodVolumes as PodVolumesFact, podVolumes } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
import type { VolumePlan } from '@kubus/volume';
import { PodVolumes, type DesiredVolumes } from '../src/pod/pod-volumes.ts';
import type { VolumeHost } from '../src/ports.ts';

const ref = { namespace: 'default', name: 'a', uid: 'a' };
const plan = (name: string, gid?: number): VolumePlan => ({
  name,
  step: { kind: 'host', path: `/srv/${name}`, type: '' },
  ...(gid !== undefined && { gid }),
});

/** A pod's volumes on a machine that the test controls, and the facts about them. */
function start(over: Partial<VolumeHost> = {}): {
  pod: PodVolumes;
  published: () => Promise<PodVolumesFact | undefined>;
  /** The pod's facts and their removals, in order. */
  said: () => string[];
} {
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
        subPath: () => Promise.reject(new Error('unexpected call')),
        usage: () => Promise.resolve(undefined),
        remove: () => Promise.resolve(),
        pods: () => Promise.resolve([]),
        ...over,
      },
      facts: broker.join('volume-manager', clock).bus.owner(podVolumes),
      sizeLimits: true,
      events: { record: () => undefined, forget: () => undefined },
    },
    { recorded: false, onRest: () => undefined },
  );
  const published = async () => {
    for (let i = 0; i < 5; i++) await settled();
    return facts.get('a')?.value;
  };
  const said = () =>
    broker.said.filter(({ headers }) => headers[HEADER.pod] === 'a').map(({ subject, data }) => `${subject} ${data}`);
  return { pod, published, said };
}

/** The fact about a pod with these volumes. */
async function publishedOf(plans: readonly VolumePlan[]): Promise<PodVolumesFact | undefined> {
  const { pod, published } = start();
  pod.update({ ref, goal: 'make', plans }, []);
  const fact = await published();
  await pod.stop();
  return fact;
}

test('nothing is published about a pod that needs no volume, from its start to its end', async () => {
  const { pod, published, said } = start();
  for (const goal of ['make', 'keep', 'remove'] as const) {
    pod.update({ ref, goal, plans: [] }, []);
    await published();
    expect({ goal, settled: pod.settled }).toEqual({ goal, settled: true });
  }
  expect(pod.forgettable).toBe(true);
  pod.update({ ref, goal: 'remove', plans: undefined }, []);
  await published();
  expect(said()).toEqual([]);
  await pod.stop();
});

test('a volume that a running pod needs from now on is published', async () => {
  const { pod, published } = start();
  pod.update({ ref, goal: 'make', plans: [] }, []);
  expect(await published()).toBeUndefined();
  pod.update({ ref, goal: 'make', plans: [plan('a')] }, []);
  expect(await published()).toMatchObject({ ready: true, volumes: { a: { hostPath: '/srv/a' } } });
  pod.update({ ref, goal: 'remove', plans: [plan('a')] }, []);
  expect(await published()).toBeUndefined();
  await pod.stop();
});

test('the groups that volumes require are published with them, each once', async () => {
  expect(await publishedOf([plan('a', 1234), plan('b'), plan('c', 7), plan('d', 1234)])).toMatchObject({
    ready: true,
    supplementalGroups: [1234, 7],
  });
  expect(await publishedOf([plan('a')])).toEqual({ ref, ready: true, volumes: { a: { hostPath: '/srv/a' } } });
});

test.each([
  ['ends well', []],
  ['fails, whatever it has removed', [new Error('busy')]],
])(
  'a pod that is desired again during a removal that %s has its volumes once they are made again',
  async (_, errors) => {
    const goesOn = Promise.withResolvers<undefined>();
    let made = 0;
    const { pod, published } = start({
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
    const desired: DesiredVolumes = { ref, goal: 'make', plans: [{ name: 'v', step }] };
    pod.update(desired, []);
    expect(await published()).toMatchObject({ ready: true });
    pod.update({ ...desired, goal: 'remove' }, []);
    await published();
    pod.update(desired, []);
    expect(await published()).toMatchObject({ ready: false });
    expect(made).toBe(1);
    goesOn.resolve(undefined);
    expect(await published()).toMatchObject({ ready: true });
    expect(made).toBe(2);
    await pod.stop();
  },
);
