import { expect, test } from '@jest/globals';
import type { KubeWatch, KubeWatcher } from '@kubus/kube';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import { ConfigSources } from '../src/index.ts';
import { Follower, mergeInto, silent } from './doubles.ts';

let version = 0;

function podOf(name: string, spec: Record<string, unknown> = {}, uid = name): object {
  const metadata = { name, namespace: 'default', uid, resourceVersion: String(++version), managedFields: [{}] };
  return { metadata, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } };
}

/** An API server that returns what its test wants, valid or not. */
class ScriptedServer implements KubeWatcher {
  objects: object[] = [];
  current: KubeWatch | undefined;
  asked = 0;
  #fail: (error: Error) => void = () => undefined;

  request(): Promise<unknown> {
    this.asked++;
    return Promise.resolve({ metadata: { resourceVersion: String(version) }, items: this.objects });
  }

  watch(watch: KubeWatch): Promise<void> {
    this.current = watch;
    watch.opened?.();
    return new Promise((_, reject) => {
      this.#fail = reject;
      watch.signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  }

  say(type: string, object: object): void {
    try {
      this.current?.event({ type, object });
    } catch (thrown) {
      this.#fail(thrown as Error);
    }
  }
}

async function begin(server: ScriptedServer) {
  const clock = new ManualClock();
  const follower = new Follower();
  const sources = new ConfigSources({
    ...{ node: 'n', clock, logger: silent, records: new MemoryRecords(), taker: mergeInto(follower, 'api') },
    api: { connect: () => Promise.resolve(server), random: () => 0.5 },
  });
  await sources.start();
  await clock.advance(0);
  return { clock, follower, sources };
}

test('a pod that the node cannot read is reported, keeps its last version, and affects no other pod', async () => {
  const server = new ScriptedServer();
  const faulty = { terminationGracePeriodSeconds: 'long' };
  server.objects = [podOf('a'), podOf('odd', faulty), podOf('never', faulty)];
  const { clock, follower } = await begin(server);
  expect(follower.takeLog()).toEqual([
    'manifest api:default/odd 1',
    'manifest api:default/never 1',
    'ADD a',
    'complete api',
  ]);
  server.say('MODIFIED', podOf('odd'));
  server.say('MODIFIED', podOf('a', faulty));
  server.say('ADDED', podOf('b'));
  expect(follower.takeLog()).toEqual(['gone api:default/odd', 'ADD odd', 'manifest api:default/a 1', 'ADD b']);
  expect(follower.manifests.get('api:default/a')).toMatchObject({
    pods: [{ name: 'a' }],
    errors: [{ field: 'spec.terminationGracePeriodSeconds' }],
  });

  // A list reports it unchanged, so it stays; what is missing from the list is removed, including its report.
  server.objects = [podOf('a', faulty), podOf('odd')];
  server.say('ERROR', { kind: 'Status', code: 410, reason: 'Expired' });
  await clock.advance(5_000);
  expect(server.asked).toBe(2);
  expect(follower.takeLog()).toEqual(['gone api:default/never', 'manifest api:default/a 1', 'REMOVE b']);
  expect(follower.running).toEqual(['a=i', 'odd=i']);
  server.say('DELETED', podOf('a', faulty));
  expect(follower.takeLog()).toEqual(['gone api:default/a', 'REMOVE a']);
});

test('a pod with the name of a deleted one replaces it', async () => {
  const server = new ScriptedServer();
  server.objects = [podOf('a', {}, 'u1')];
  const { follower, sources } = await begin(server);
  server.say('DELETED', podOf('a', {}, 'u1'));
  server.say('ADDED', podOf('a', {}, 'u2'));
  expect(follower.takeLog()).toEqual(['ADD a', 'complete api', 'REMOVE a', 'ADD a']);
  expect([...follower.pods.keys()]).toEqual(['api/u2']);
  sources.stop();
  server.say('DELETED', podOf('a', {}, 'u2'));
  expect(follower.takeLog()).toEqual([]);
});

test('the time at which a pod was first seen is kept, whatever the source sends later', async () => {
  const server = new ScriptedServer();
  server.objects = [podOf('a')];
  const { clock, follower } = await begin(server);
  await clock.advance(60_000);
  server.say('MODIFIED', podOf('a', { hostname: 'h' }));
  expect(follower.pods.get('api/a')?.metadata.annotations).toEqual({
    'kubernetes.io/config.seen': '2030-01-01T00:00:00.000Z',
    'kubernetes.io/config.source': 'api',
  });
  expect(follower.pods.get('api/a')?.metadata.managedFields).toBeUndefined();
});
