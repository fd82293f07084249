import { expect, test } from '@jest/globals';
import { KubeError, type KubeRequest } from '@kubus/kube';
import { ManualClock } from '@kubus/ports/testing';
import { readRemoval } from '../../src/containers/environment.ts';
import { removeNodes } from '../../src/containers/remove-nodes.ts';

const removal = { namespace: 'kubus', daemonSet: 'kubus-uninstall', nameSuffix: '-kubus' };
const guest = { 'kubus.dev/guest': 'true' };

/** An API server with a DaemonSet, whose status is the next one of these each time, and with Node objects by name. */
function apiServer(statuses: readonly object[], labelsOf: Readonly<Record<string, Record<string, string>>>) {
  const asked: string[] = [];
  const left = [...statuses];
  const clock = new ManualClock();
  const request = ({ method, path, query }: KubeRequest): Promise<unknown> => {
    asked.push(`${method} ${path}${query === undefined ? '' : ` ${JSON.stringify(query)}`}`);
    if (path.endsWith('/daemonsets/kubus-uninstall')) {
      const status = left.length > 1 ? left.shift() : left[0];
      // The next look is one period later.
      setImmediate(() => void clock.advance(1_000));
      return Promise.resolve({
        metadata: { generation: 1 },
        spec: { selector: { matchLabels: { app: 'u', of: 'k' } } },
        status,
      });
    }
    if (path.endsWith('/pods')) {
      const items = ['m1', 'm2', 'm3', undefined].map((nodeName) => ({ spec: { nodeName } }));
      return Promise.resolve({ items });
    }
    const labels = labelsOf[path.slice('/api/v1/nodes/'.length)];
    if (labels === undefined) {
      return Promise.reject(new KubeError('Rejected', 'no such node', { status: 404, reason: 'NotFound' }));
    }
    return Promise.resolve({ metadata: { labels } });
  };
  return { client: { request }, clock, asked };
}

test('waits until every machine is done, and deletes the Node objects of these machines alone, none of another agent', async () => {
  const counted = (desiredNumberScheduled: number, numberReady: number) => ({
    observedGeneration: 1,
    desiredNumberScheduled,
    numberReady,
  });
  const uncounted = { desiredNumberScheduled: 0, numberReady: 0 };
  const labelsOf = { 'm1-kubus': guest, 'm3-kubus': {}, 'm4-kubus': guest };
  const { client, clock, asked } = apiServer([uncounted, counted(2, 1), counted(2, 2)], labelsOf);
  expect(await removeNodes(client, clock, removal)).toEqual(['m1-kubus']);
  const looks = asked.filter((one) => one.includes('daemonsets'));
  expect(looks).toEqual(Array(3).fill('GET /apis/apps/v1/namespaces/kubus/daemonsets/kubus-uninstall'));
  expect(asked.slice(3)).toEqual([
    'GET /api/v1/namespaces/kubus/pods {"labelSelector":"app=u,of=k"}',
    'GET /api/v1/nodes/m1-kubus',
    'DELETE /api/v1/nodes/m1-kubus',
    'GET /api/v1/nodes/m2-kubus',
    'GET /api/v1/nodes/m3-kubus',
  ]);
});

test('is configured by its environment', () => {
  const environment = { KUBUS_NAMESPACE: 'kubus', KUBUS_DAEMONSET: 'kubus-uninstall', KUBUS_NAME_SUFFIX: '-kubus' };
  expect(readRemoval(environment)).toEqual(removal);
  expect(() => readRemoval({ KUBUS_NAMESPACE: 'kubus' })).toThrow(
    expect.objectContaining({ code: 'BadEnvironment', message: expect.stringContaining('KUBUS_DAEMONSET') as unknown }),
  );
});
