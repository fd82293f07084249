import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccessAttributes } from '@kubus/kube-fixture';
import type { ObjectCache } from '../src/index.ts';
import { TestNode, podOf } from './test-node.ts';

const HOUR = 3_600_000;
const account = { namespace: 'default', name: 'robot' };

let node: TestNode;
let cache: ObjectCache;
let denied: ((attributes: AccessAttributes) => boolean) | undefined;

beforeEach(async () => {
  denied = undefined;
  node = await TestNode.start({
    authorize: (attributes) => (denied?.(attributes) === true ? 'not this one' : undefined),
  });
  node.api.create({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { ...account, annotations: { 'example.test/role': 'puller' } },
  });
  cache = await node.run();
});

afterEach(async () => {
  // Tokens start with this.
  expect(node.logged.filter((line) => line.includes('eyJ'))).toEqual([]);
  await node.stop();
});

/** Adds a pod to the API and to the node. Returns its reference for token requests. */
async function run(name: string): Promise<{ name: string; uid: string }> {
  const spec = { serviceAccountName: 'robot', containers: [{ name: 'main', image: 'i' }] };
  const pod = podOf(name, spec);
  const { metadata } = node.api.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { ...spec, nodeName: 'n' },
  });
  const { uid } = metadata;
  node.work({ ...pod, metadata: { ...pod.metadata, uid } });
  await node.untilReceived();
  return { name, uid };
}

async function ask(pod: { name: string; uid: string }, change: object = {}): Promise<string> {
  const { token } = await node.client.token(account, { audiences: ['registry'], pod, ...change });
  return token;
}

const claims = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
const asked = () => node.requests('create', 'serviceaccounts').length;

describe('a token', () => {
  test('is bound to its pod and to the requested audience, and is requested once', async () => {
    const pod = await run('p');
    const [one, other] = await Promise.all([ask(pod), ask(pod)]);
    expect(one).toBe(other);
    expect(await ask(pod)).toBe(one);
    expect(asked()).toBe(1);
    expect(claims(one)).toMatchObject({
      aud: ['registry'],
      sub: 'system:serviceaccount:default:robot',
      'kubernetes.io': { pod },
    });
    expect(await ask(pod, { audiences: ['vault'], expirationSeconds: 600 })).not.toBe(one);
    expect(asked()).toBe(2);
  });

  test('says when it should be renewed', async () => {
    const pod = await run('p');
    const { expirationTimestamp, refreshTimestamp } = await node.client.token(account, { pod });
    // The jitter of 10 s does not show in the test's clock.
    expect(Date.parse(expirationTimestamp) - Date.parse(refreshTimestamp)).toBe(0.2 * HOUR);
  });

  test('that is requested before its pod is known waits for the pod', async () => {
    node.clock.hurry = 1;
    const spec = { serviceAccountName: 'robot', containers: [{ name: 'main', image: 'i' }] };
    const made = node.api.create({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'default' } },
      spec: { ...spec, nodeName: 'n' },
    });
    const { uid } = made.metadata;
    const early = ask({ name: 'p', uid });
    const { metadata, ...rest } = podOf('p', spec);
    node.work({ ...rest, metadata: { ...metadata, uid } });
    expect(claims(await early)).toHaveProperty('sub');
  });

  test('is renewed when a fifth of its lifetime is left; the old one stays valid while there is no other', async () => {
    const pod = await run('p');
    const first = await ask(pod);
    await node.clock.advance(0.79 * HOUR);
    expect(await ask(pod)).toBe(first);
    const fault = node.api.inject({ when: ({ verb }) => verb === 'create', fault: { kind: 'answer', code: 500 } });
    await node.clock.advance(0.02 * HOUR);
    const { token, refreshTimestamp } = await node.client.token(account, { audiences: ['registry'], pod });
    expect(token).toBe(first);
    expect(fault.hits).toBe(1);
    expect(Date.parse(refreshTimestamp) - node.clock.now()).toBe(30_000);
    fault.remove();
    expect(await ask(pod)).not.toBe(first);
    await node.api.pause();
    await node.clock.advance(2 * HOUR);
    await expect(ask(pod)).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
  });

  test('is issued for pods of this node only, and forgotten with its pod', async () => {
    const pod = await run('p');
    await ask(pod);
    const question = { audiences: [], pod };
    for (const [other, wrong] of [
      [{ ...account, name: 'other' }, question],
      [{ ...account, namespace: 'kube-system' }, question],
      [account, { ...question, pod: { ...pod, name: 'q' } }],
      [account, { ...question, pod: { ...pod, uid: 'q' } }],
    ] as const) {
      await expect(node.client.token(other, wrong)).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
    }
    expect(asked()).toBe(1);
    node.forget(pod.uid);
    await node.untilReceived();
    expect(cache.count.tokens).toBe(0);
    await expect(ask(pod)).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
    expect(asked()).toBe(1);
  });

  test('that the API server refuses is refused with the server’s message', async () => {
    const pod = await run('p');
    denied = ({ resource, subresource }) => resource === 'serviceaccounts' && subresource === 'token';
    await expect(ask(pod)).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringMatching(/^serviceaccounts\/token "robot" is forbidden: .*: not this one$/),
    });
  });
});

describe('a service account', () => {
  test('is served in its current version, or in the last known one while the API server is unreachable', async () => {
    const pod = await run('p');
    await ask(pod);
    const now = { uid: expect.any(String), annotations: { 'example.test/role': 'puller' } };
    expect(await node.client.serviceAccount(account)).toEqual(now);
    await node.api.pause();
    expect(await node.client.serviceAccount(account)).toEqual(now);
    await node.api.resume();
    denied = ({ resource }) => resource === 'serviceaccounts';
    await expect(node.client.serviceAccount(account)).rejects.toMatchObject({ code: 'Refused' });
    const other = { ...account, name: 'default' };
    await expect(node.client.serviceAccount(other)).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
  });
});

test('an invalid request is answered without quoting it', async () => {
  const call = request({ socketPath: node.socket, method: 'POST', path: '/tokens/default/robot' });
  call.setHeader('content-type', 'application/json').end('{"pod": hunter2');
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  expect([response.statusCode, await text(response)]).toEqual([400, '{"message":"not a valid request"}']);
});
