import { expect } from '@jest/globals';
import type { FaultsDocument, MessageDocument, MessagePage } from '@kubus/contracts/observatory';
import { type TestNode, poll } from '@kubus/harness';
import { sharedNode } from '../src/node-tests.ts';
import { openObservatory } from '../src/observatory-page.ts';
import { pod } from '../src/pods.ts';

const onNode = sharedNode('observatory-faults', { observatory: true, faults: true });

type Opened = Awaited<ReturnType<typeof openObservatory>>;

const DELAY_MS = 400;

/** Sends a change as the page does. */
async function change({ base, headers }: Opened, method: 'POST' | 'DELETE', path: string, body?: object) {
  const answer = await fetch(`${base}/api/v1${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text() };
}

/** Bus time of the pod's StartContainer command to cri-bridge, from the recording; milliseconds. */
async function startOnItsWay({ ask }: Opened, uid: string): Promise<number> {
  const messages = (type: string) => ask<MessagePage>(`/recordings/~live/messages?pod=${uid}&type=${type}`);
  return poll('the answer to StartContainer in the recording', async () => {
    const { messages: found } = await messages('runtime.cmd.StartContainer');
    // The first request is answered first, also if it was sent again.
    const [asked] = found.filter(({ kind }) => kind === 'cmd');
    if (asked === undefined) return undefined;
    const { at, caused } = await ask<MessageDocument>(`/recordings/~live/messages/${asked.seq}`);
    const answered = caused.filter(({ service }) => service === 'cri-bridge').map((answer) => answer.at);
    return answered.length === 0 ? undefined : Math.min(...answered) - at;
  });
}

async function started(node: TestNode, name: string): Promise<string> {
  await node.writeManifest(`${name}.json`, pod(name));
  return (await node.watch.waitForPod(name)).ref.uid;
}

onNode(
  'a delay that is set over HTTP delays a step of a pod, is counted, and ends when it is removed',
  async (node) => {
    const page = await openObservatory(node);
    const faults = () => page.ask<FaultsDocument>('/faults');
    expect(await page.ask('/')).toMatchObject({ node: node.name, faults: true });
    const late = {
      id: 'late-starts',
      match: { subject: 'runtime.cmd.StartContainer.>', source: 'pod-workers' },
      what: { kind: 'delay', ms: DELAY_MS },
    };
    // Without the token no fault can be injected.
    expect((await change({ ...page, headers: { authorization: 'Bearer x' } }, 'POST', '/faults', late)).status).toBe(
      401,
    );
    expect(await faults()).toEqual({ rules: [], pauses: [] });
    expect((await change(page, 'POST', '/faults', late)).status).toBe(201);
    const delayed = await started(node, 'delayed');
    // Timers of a machine fire up to a millisecond early.
    expect(await startOnItsWay(page, delayed)).toBeGreaterThan(DELAY_MS - 2);
    const counted = await poll('the rule to be counted', async () =>
      (await faults()).rules.find(({ acted }) => acted > 0),
    );
    expect(counted).toMatchObject({ rule: late, text: expect.stringContaining('runtime.cmd.StartContainer.>') });
    const listed = await node.kubus('fault', 'list', '-o', 'json');
    expect(JSON.parse(listed.stdout)).toMatchObject({ kind: 'ActiveFaultList', items: [{ rule: late }] });

    expect((await change(page, 'DELETE', '/faults/late-starts')).status).toBe(204);
    expect(await faults()).toEqual({ rules: [], pauses: [] });
    const prompt = await started(node, 'prompt');
    await startOnItsWay(page, prompt);
    const acted = async (uid: string) => {
      const list = await page.ask<MessagePage>(`/recordings/~live/messages?pod=${uid}&type=fault.event.faulted`);
      return list.messages.length;
    };
    expect(await acted(delayed)).toBeGreaterThan(0);
    expect(await acted(prompt)).toBe(0);

    const pause = { what: 'pause', forMs: 600_000 };
    expect(await change(page, 'POST', '/services/prober/fault', pause)).toEqual({
      status: 200,
      text: '{"instances":["prober-0"]}',
    });
    await poll('the pause in the list', async () => ((await faults()).pauses.length === 1 ? true : undefined));
    expect((await change(page, 'DELETE', '/faults')).status).toBe(200);
    await poll('the end of the pause', async () => ((await faults()).pauses.length === 0 ? true : undefined));
    await page.end();
  },
);
