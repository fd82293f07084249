import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { allocateDevices } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { topologyRefusalIn } from '../src/index.ts';

const ref = { namespace: 'default', name: 'web', uid: 'u1' };

test('a refused allocation has the hints of each provider until the pod gets its devices', async () => {
  const broker = new LocalBroker('node0');
  const merge = {
    policy: 'restricted',
    container: 'main',
    resources: [{ resource: 'cpu', hints: [] }],
    preferred: false,
  };
  const context = { by: 'topology', merge: JSON.stringify(merge) };
  const answers = [new KubusError('TopologyAffinityError', 'No.', { context }), undefined];
  broker.join('node-agent', new ManualClock()).bus.serve(allocateDevices, () => {
    const error = answers.shift();
    return error === undefined ? Promise.resolve({ containers: {} }) : Promise.reject(error);
  });
  const { bus } = broker.join('sync-loop', new ManualClock());
  const messages = () => broker.said.map((message, index) => ({ seq: index + 1, stored: index, message }));
  const ask = () => bus.call(allocateDevices, ref.uid, { ref, requests: [] });
  await expect(ask()).rejects.toThrow('No.');
  const refusal = { reason: 'TopologyAffinityError', message: 'No.', by: 'topology', merge };
  expect(topologyRefusalIn(messages())).toEqual(refusal);
  await ask();
  expect(topologyRefusalIn(messages())).toBeUndefined();
  expect(topologyRefusalIn([])).toBeUndefined();
});
