import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { type Clock, silentLogger } from '@kubus/ports';
import { KubeClient } from '../src/kube-client.ts';
import { kubePath } from '../src/kube-path.ts';
import { Reflector } from '../src/reflector.ts';

const clock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};

let api: TestApiServer;
let client: KubeClient;
let reflector: Reflector<{ name: string; value: string }>;
const log: string[] = [];
let look: () => void;

async function until(found: () => boolean): Promise<void> {
  while (!found()) await new Promise<void>((resolve) => (look = resolve));
}

function follow(stalledAfterMs?: number): void {
  const heard = (line: string) => {
    log.push(line);
    look();
  };
  reflector = new Reflector({
    ...{ client, clock, logger: silentLogger, stalledAfterMs, random: () => 0 },
    path: kubePath({ version: 'v1', resource: 'configmaps', namespace: 'default' }),
    parse: (object) => {
      const { metadata, data } = object as { metadata: { name: string }; data?: { value?: string } };
      return { name: metadata.name, value: data?.value ?? '' };
    },
    listener: {
      replaced: (objects) => heard(`= ${objects.map(({ name, value }) => name + value).join(' ')}`),
      changed: ({ name, value }) => heard(`+ ${name}${value}`),
      removed: ({ name }) => heard(`- ${name}`),
    },
  });
  reflector.start();
}

const put = (name: string) => api.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const set = (name: string, value: string) => api.patch({ kind: 'ConfigMap', name }, { data: { value } });

beforeEach(async () => {
  log.length = 0;
  look = () => undefined;
  api = await TestApiServer.start();
  const kubeconfig = await api.kubeconfig(nodeUser('n'));
  client = await KubeClient.open({ kubeconfig, userAgent: 'kubus-test', clock, logger: silentLogger });
});

afterEach(async () => {
  reflector.stop();
  await client.close();
  await api.close();
});

test('a list of several pages is one set', async () => {
  const names = Array.from({ length: 1_100 }, (_, index) => `c${String(index).padStart(4, '0')}`);
  for (const name of names) put(name);
  follow();
  await until(() => log.length > 0);
  expect(log).toEqual([`= ${names.join(' ')}`]);
  expect(api.requests.filter(({ verb }) => verb === 'list')).toHaveLength(3);
});

test('continues at its version after broken or silent connections and an outage, and lists when the version has expired', async () => {
  put('a');
  follow(500);
  await until(() => log.length === 1);
  set('a', '1');
  await until(() => log.at(-1) === '+ a1');
  for (const watch of api.watches) watch.cut();
  set('a', '2');
  await until(() => log.at(-1) === '+ a2');
  for (const watch of api.watches) watch.stall();
  set('a', '3');
  await until(() => log.at(-1) === '+ a3');
  await api.pause();
  set('a', '4');
  put('b');
  await api.resume();
  await until(() => log.at(-1) === '+ b');
  expect(log.splice(0)).toEqual(['= a', '+ a1', '+ a2', '+ a3', '+ a4', '+ b']);
  expect(api.requests.filter(({ verb }) => verb === 'list')).toHaveLength(1);

  await api.pause();
  api.delete({ kind: 'ConfigMap', name: 'b' });
  api.compact();
  await api.resume();
  await until(() => log.length > 0);
  expect(log).toEqual(['= a4']);
});
