import { beforeEach, expect, test } from '@jest/globals';
import { SWAP_LIMITATION } from '@kubus/admission';
import { type Pod, type PodWork, podSchema } from '@kubus/contracts';
import { Metrics } from '@kubus/service-kit';
import { WorkMetrics } from './work-metrics.ts';

let counted: WorkMetrics;

beforeEach(() => {
  counted = new WorkMetrics();
});

async function shown(name: string): Promise<string[]> {
  const metrics = new Metrics({});
  counted.show(metrics);
  const family = (await metrics.families()).find((one) => one.name === `kubelet_${name}`);
  if (family === undefined || family.type === 'histogram') throw new Error(`there is no ${name}`);
  return family.samples.map(({ labels, value }) => [...Object.values(labels), value].join(' '));
}

function work(more: Partial<PodWork>): PodWork {
  const ref = { namespace: 'n', name: 'a', uid: 'u' };
  return { ref, source: 'api', work: 'sync', reason: '', worker: 'pod-workers-0', firstSeen: '', ...more };
}

function rejected(reason: string): PodWork {
  return work({ work: 'reject', failure: { reason, message: '' } });
}

test('a rejected pod is counted once, also over a restart', async () => {
  counted.earlier('before', 'reject');
  counted.decided('before', rejected('OutOfcpu'));
  counted.decided('a', rejected('OutOfcpu'));
  counted.decided('a', rejected('OutOfcpu'));
  counted.decided('b', rejected('OutOfexample.org/device'));
  counted.decided('c', rejected('something new'));
  expect(await shown('admission_rejections_total')).toEqual(['OutOfcpu 1', 'OutOfExtendedResources 1', 'Other 1']);
});

test('preempted pods and deferred resizes are counted', async () => {
  const failure = { reason: 'Preempting', message: '' };
  counted.decided('a', work({}));
  counted.decided('a', work({ work: 'evict', failure }));
  counted.decided('a', work({ work: 'evict', failure }));
  expect(await shown('preemptions')).toEqual([' 1']);
  const wanted = { containers: {} };
  counted.decided('b', work({ pendingResize: { reason: 'Deferred', message: '', wanted } }));
  counted.decided('b', work({}));
  counted.decided('c', work({ pendingResize: { reason: 'Infeasible', message: '', wanted } }));
  counted.decided('c', work({}));
  expect(await shown('pod_deferred_accepted_resizes_total')).toEqual(['periodic_retry 1']);
  expect(await shown('pod_infeasible_resizes_total')).toEqual([]);
  const limited = work({ pendingResize: { reason: 'Infeasible', message: SWAP_LIMITATION, wanted } });
  for (const decided of [limited, limited, work({}), limited]) counted.decided('d', decided);
  expect(await shown('pod_infeasible_resizes_total')).toEqual(['swap_limitation 2']);
});

test('requested resizes are counted by how they differ', async () => {
  const pod = (requests: object, limits: object = {}): Pod =>
    podSchema.parse({
      metadata: { name: 'a', namespace: 'n', uid: 'u' },
      spec: { containers: [{ name: 'c', image: 'i', resources: { requests, limits } }] },
    });
  counted.wanted('u', pod({ cpu: '1', memory: '1Gi' }));
  counted.wanted('u', pod({ cpu: '1000m', memory: '2Gi' }, { cpu: '2' }));
  counted.wanted('u', pod({ cpu: '500m' }, { cpu: '2' }));
  expect(await shown('container_requested_resizes_total')).toEqual([
    'memory requests increase 1',
    'cpu limits add 1',
    'cpu requests decrease 1',
    'memory requests remove 1',
  ]);
  counted.wanted('u', undefined);
  counted.wanted('u', pod({ cpu: '9' }));
  expect(await shown('container_requested_resizes_total')).toHaveLength(4);
});
