import { expect, test } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containerConfig } from '../src/containers/container-config.ts';
import { containerDir } from '../src/containers/container-dir.ts';
import { nodeDir } from '../src/node/node-dir.ts';
import { servicesOf } from '../src/node/node-services.ts';
import { readShape } from '../src/node/node-shape.ts';
import { testFolder } from './support.ts';

const apiServer = { kubeconfig: '/etc/kubus/cluster/kubeconfig', certDir: '/pki' };
const plain = { natsUrl: 'nats://127.0.0.1:4222', logLevel: 'info', observatory: false, httpPort: 10_300 };

test('the services of a node in containers are those of its configuration', async () => {
  const base = await testFolder();
  const options = { base, runBase: join(base, 'run') };
  expect(await readShape(nodeDir('composed', options))).toBeUndefined();
  const dir = containerDir('composed', 'composed', options);
  await mkdir(dir.sharedConfig, { recursive: true });
  const servicesWith = async (settings: Parameters<typeof containerConfig>[1]) => {
    await writeFile(join(dir.sharedConfig, 'node.json'), JSON.stringify(containerConfig(dir, settings)));
    const shape = await readShape(nodeDir('composed', options));
    return { services: servicesOf(shape ?? {}).slice(9), instances: shape?.instances };
  };
  expect(await servicesWith(plain)).toEqual({ services: [], instances: {} });
  const patch = { apiServer, instances: { prober: 2 } };
  expect(await servicesWith({ ...plain, observatory: true, overlay: { file: 'node.yaml', patch } })).toEqual({
    services: ['object-cache', 'status-manager', 'observatory'],
    instances: { prober: 2 },
  });
});
