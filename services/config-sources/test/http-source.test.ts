import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import { systemClock } from '@kubus/service-kit';
import { type IncomingHttpHeaders, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigSources } from '../src/index.ts';
import { ManifestUrl } from '../src/manifest-url.ts';
import { Follower, manifestOf, mergeInto, silent } from './doubles.ts';

describe('the source', () => {
  const NEVER = new Error('http://x/m: 503 Service Unavailable');

  async function begin(first: string | Error) {
    const clock = new ManualClock();
    const follower = new Follower();
    const answers: (string | Error)[] = [first];
    let reads = 0;
    const read = () => {
      reads++;
      const answer = answers.shift() ?? NEVER;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    const merge = mergeInto(follower, 'http');
    const sources = new ConfigSources({
      ...{ node: 'n', clock, logger: silent, records: new MemoryRecords(), taker: merge },
      http: { endpoint: { url: 'http://x/m', read }, checkEveryMs: 20_000 },
    });
    await sources.start();
    const next = async (answer: string | Error) => {
      answers.push(answer);
      await clock.advance(20_000);
      return follower.takeLog();
    };
    return { clock, follower, sources, merge, next, reads: () => reads };
  }

  test('replaces the pod when the manifest at the URL changes', async () => {
    const { follower, sources, next, clock, reads } = await begin(manifestOf('a'));
    expect(follower.takeLog()).toEqual(['manifest http://x/m 0', 'ADD a-n', 'complete http']);
    const [pod] = [...follower.pods.values()];
    expect(pod?.metadata.annotations).toMatchObject({ 'kubernetes.io/config.source': 'http' });
    expect(pod?.spec.tolerations ?? []).toEqual([]);
    expect(await next(manifestOf('a'))).toEqual([]);
    expect(await next(manifestOf('a', 'j'))).toEqual(['manifest http://x/m 0', 'REMOVE a-n', 'ADD a-n']);
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] });
    expect(await next(list)).toEqual(['manifest http://x/m 0', 'REMOVE a-n']);
    sources.stop();
    await clock.advance(60_000);
    expect(reads()).toBe(4);
  });

  test('keeps its pods when the answer is missing, faulty or empty', async () => {
    const { follower, next, clock } = await begin(manifestOf('a'));
    follower.takeLog();
    expect(await next(NEVER)).toEqual(['manifest http://x/m 1']);
    expect(await next(NEVER)).toEqual([]);
    expect(await next('kind: [')).toEqual(['manifest http://x/m 1']);
    expect(await next('')).toEqual(['manifest http://x/m 1']);
    expect(follower.running).toEqual(['a-n=i']);
    expect(await next(manifestOf('b'))).toEqual(['manifest http://x/m 0', 'REMOVE a-n', 'ADD b-n']);
    expect(clock.waits).toEqual([20_000]);
  });

  test.each<readonly [string, string | Error, boolean]>([
    ['no answer', NEVER, false],
    ['a faulty answer', 'kind: [', false],
    ['an empty answer', ' \n', true],
  ])('%s at first: complete %#', async (_, first, complete) => {
    const { merge, next } = await begin(first);
    expect(merge.ready).toBe(complete);
    await next(manifestOf('a'));
    expect(merge.ready).toBe(true);
  });
});

describe('the URL', () => {
  let server: Server;
  let url: string;
  const seen: IncomingHttpHeaders[] = [];
  let answer: (response: ServerResponse) => void;

  beforeEach(async () => {
    server = createServer((request, response) => {
      seen.push(request.headers);
      answer(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://user:p%40ss@127.0.0.1:${(server.address() as AddressInfo).port}/m`;
    seen.length = 0;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const read = (headers: Record<string, string[]> = {}, clock: ManualClock | typeof systemClock = systemClock) =>
    new ManifestUrl({ url, headers, clock }).read();

  test('is requested with its headers, and its text is returned', async () => {
    answer = (response) => response.end('ä');
    expect(await read({ 'X-Token': ['secret', 'other'] })).toBe('ä');
    const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(seen).toMatchObject([{ 'x-token': 'secret, other', authorization }]);
  });

  test.each<readonly [string, (response: ServerResponse) => void, string]>([
    ['a refusal', (response) => response.writeHead(404).end('no'), '404 Not Found'],
    ['a broken connection', (response) => response.destroy(), 'other side closed'],
    ['no text', (response) => response.end(Buffer.of(0xff, 0xfe)), 'not valid for encoding utf-8'],
    ['too much', (response) => response.end(Buffer.alloc(10 * 1024 * 1024 + 1)), 'more than 10485760 bytes'],
  ])('%s is an error that names the URL and contains no secret', async (_, give, what) => {
    answer = give;
    const error: unknown = await read({ 'X-Token': ['secret'] }).catch((thrown: unknown) => thrown);
    const text = `${String(error)} ${JSON.stringify(error)}`;
    expect(text).toContain(`${url.replace('user:p%40ss@', '')}: `);
    expect(text).toContain(what);
    expect(text).not.toMatch(/secret|ss@|ss%40/);
  });

  test('times out after ten seconds', async () => {
    const clock = new ManualClock();
    answer = () => void clock.advance(10_000);
    await expect(read({}, clock)).rejects.toMatchObject({ message: expect.stringContaining('within 10000 ms') });
  });
});
