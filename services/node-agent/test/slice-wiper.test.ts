import { expect, test } from '@jest/globals';
import { KubeClient, type KubeRequest } from '@kubus/kube';
import { TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { silentLogger } from '@kubus/ports';
import { Conditions, ManualClock } from '@kubus/ports/testing';
import { SliceWiper } from '../src/claims/slice-wiper.ts';

test('the slices of a driver that registers again without answering go once more', async () => {
  const [clock, server] = [new ManualClock(Date.UTC(2030, 0, 1)), await TestApiServer.start()];
  const kubeconfig = await server.kubeconfig(nodeUser('node0'));
  const client = await KubeClient.open({ kubeconfig, userAgent: 'test', clock, logger: silentLogger });
  const answers = new Conditions();
  let answered = 0;
  const counted = {
    request: async (request: KubeRequest) => {
      const answer = await client.request(request);
      answered += 1;
      answers.changed();
      return answer;
    },
  };
  const slice = { kind: 'ResourceSlice', name: 'one' };
  const wiper = new SliceWiper({ client: counted, node: 'node0', clock, logger: silentLogger });
  await answers.until(() => answered === 1);
  for (const wiped of [2, 3]) {
    const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
    const spec = { driver: 'devices.test', nodeName: 'node0', pool, devices: [] };
    server.create({ apiVersion: 'resource.k8s.io/v1', kind: slice.kind, metadata: { name: slice.name }, spec });
    wiper.gone('devices.test');
    await clock.advance(29_999);
    wiper.gone('devices.test');
    expect(server.get(slice)).toBeDefined();
    await clock.advance(1);
    await answers.until(() => answered === wiped);
    expect(server.get(slice)).toBeUndefined();
  }
  wiper.stop();
  await client.close();
  await server.close();
});
