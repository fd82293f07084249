import { HEADER } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { configEvent, configNodeEvent, desiredPods, manifest, podEventSchema, typeOf } from '@kubus/contracts';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import { expect, test } from '@jest/globals';
import { ConfigSources } from '../src/index.ts';
import { publishSources } from '../src/publish.ts';
import { ScriptedFolder, manifestOf, silent } from './doubles.ts';

async function begin(folder: ScriptedFolder) {
  const clock = new ManualClock();
  const broker = new LocalBroker('n');
  const { bus } = broker.join('config-sources', clock);
  const merge = publishSources({ bus, clock, logger: silent, sources: ['file'] });
  const ports = { node: 'n', clock, logger: silent, records: new MemoryRecords() };
  await new ConfigSources({ ...ports, taker: merge, file: { folder } }).start();
  const said = (type: string) => broker.said.filter(({ headers }) => headers[HEADER.type] === type);
  return { clock, broker, said };
}

const idOf = ({ headers }: { headers: Readonly<Record<string, string>> }) =>
  `${headers[HEADER.source] ?? ''}.${headers[HEADER.epoch] ?? ''}.${headers[HEADER.seq] ?? ''}`;

test('a pod names its own file as its cause, and nothing else of thousands', async () => {
  const folder = new ScriptedFolder();
  for (let one = 0; one < 3_500; one++)
    folder.files.set(`/m/${one}.yaml`, one % 700 === 0 ? manifestOf(`p${one}`) : 'x');
  const { said, clock } = await begin(folder);
  const reports = new Map(
    said(typeOf(manifest)).map((message) => [(JSON.parse(message.data) as { path: string }).path, message]),
  );
  const pods = said(typeOf(desiredPods.file));
  expect([reports.size, pods.length]).toEqual([3_500, 5]);
  for (const pod of pods) {
    const { pod: value } = JSON.parse(pod.data) as { pod: { metadata: { name: string } } };
    const report = reports.get(`/m/${value.metadata.name.slice(1, -2)}.yaml`);
    expect(pod.headers[HEADER.causes]).toBe(report && idOf(report));
  }
  // What was said about a file that is removed is the cause of the removal of its pod.
  folder.files.delete('/m/0.yaml');
  folder.changed();
  await clock.advance(5);
  const gone = said(typeOf(manifest)).at(-1);
  expect(said(typeOf(desiredPods.file)).at(-1)?.headers).toMatchObject({
    [HEADER.removed]: 'true',
    [HEADER.causes]: gone && idOf(gone),
  });
});

test('a faulty manifest is a Kubernetes event of the node; thousands are a few', async () => {
  const folder = new ScriptedFolder();
  folder.files.set('/m/a.yaml', 'kind: Pod\napiVersion: v1\n');
  folder.unreadable.add('/m/b.yaml');
  const { said, clock } = await begin(folder);
  const messages = () =>
    said(typeOf(configNodeEvent)).map(({ data }) => (JSON.parse(data) as { message: string }).message);
  expect(messages()).toEqual([
    '/m/a.yaml: metadata.name: Required value: name or generateName is required (and 1 more)',
    '/m/b.yaml: no access',
  ]);
  for (let one = 0; one < 1_000; one++) folder.files.set(`/m/junk-${one}.yaml`, 'x');
  folder.changed();
  await clock.advance(60_000);
  expect(messages().length).toBeLessThan(40);
});

test('of two manifests that are one pod, the events of both pods name the file that is run', async () => {
  const folder = new ScriptedFolder();
  folder.files.set('/m/a.yaml', manifestOf('x'));
  folder.files.set('/m/b.yaml', manifestOf('x', 'j'));
  const { said, clock } = await begin(folder);
  const events = () =>
    said(typeOf(configEvent)).map(({ data, headers }) => {
      const { ref, type, reason, message } = podEventSchema.parse(JSON.parse(data));
      const report = said(typeOf(manifest)).find((one) => idOf(one) === headers[HEADER.causes]);
      const path = /"path":"([^"]*)"/.exec(report?.data ?? '')?.[1];
      return { uid: ref.uid, said: `${type} ${reason}: ${message.replace(ref.uid, 'UID')}`, by: path };
    });
  const uids = said(typeOf(desiredPods.file)).map(({ headers }) => headers[HEADER.pod]);
  const [atFirst, dropped] = events();
  expect(atFirst).toEqual({
    uid: uids[0],
    said: 'Warning DuplicatePod: /m/a.yaml has this pod; another with its name in /m/b.yaml is not run',
    by: '/m/b.yaml',
  });
  expect(dropped).toMatchObject({
    said: 'Warning FailedValidation: Error validating pod x-n_default(UID) from file due to duplicate pod name "x-n", ignoring the pod of /m/b.yaml: that of /m/a.yaml runs',
    by: '/m/b.yaml',
  });
  expect(uids).not.toContain(dropped?.uid);
  for (const name of ['c', 'd', 'e']) folder.files.set(`/m/${name}.yaml`, manifestOf('x', name));
  folder.changed();
  await clock.advance(5);
  const lastOf = (uid: string | undefined) => events().findLast((event) => event.uid === uid)?.said;
  expect(lastOf(uids[0])).toMatch(
    /another with its name in \/m\/b.yaml, \/m\/c.yaml, \/m\/d.yaml and 1 more is not run$/,
  );
  for (const name of ['b', 'c', 'd', 'e']) folder.files.delete(`/m/${name}.yaml`);
  folder.changed();
  await clock.advance(5);
  expect(lastOf(uids[0])).toBe('Normal DuplicatePod: no manifest has another pod any more that is not run');
});
