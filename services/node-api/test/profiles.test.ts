// Profiles of the process in the format of `go tool pprof`.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import { cpuPprof, heapPprof } from '../src/debug/pprof.ts';
import { ApiNode, open } from './api-node.ts';
import { begin, get } from './client.ts';

const frame = (functionName: string, lineNumber = 0) => {
  return { functionName, scriptId: '1', url: 'file:///it.mjs', lineNumber, columnNumber: 0 };
};

/** Each sample as `innermost < outer`, with its values. */
function samplesOf(packed: Uint8Array): [string, number[]][] {
  const { sample, location, function: functions, stringTable } = Profile.decode(gunzipSync(packed));
  const text = (index: unknown) => stringTable.strings[Number(index)] ?? '';
  const nameOf = (id: unknown) => {
    const line = location.find((one) => Number(one.id) === Number(id))?.line[0];
    const found = functions.find((one) => Number(one.id) === Number(line?.functionId));
    return `${text(found?.name)}:${String(line?.line)}`;
  };
  return sample.map(({ locationId, value }) => [locationId.map(nameOf).join(' < '), value.map(Number)]);
}

describe('a profile', () => {
  test('of the processor has each stack with its count and duration', async () => {
    const packed = await cpuPprof({
      nodes: [
        { id: 1, callFrame: frame('(root)'), children: [2, 4] },
        { id: 2, callFrame: frame('outer', 4), children: [3] },
        { id: 3, callFrame: frame('', 6) },
        { id: 4, callFrame: frame('(idle)') },
      ],
      samples: [3, 3, 2, 4],
      timeDeltas: [10, 20, 5, 1_000],
      startTime: 0,
      endTime: 1_035,
    });
    expect(samplesOf(packed)).toEqual([
      ['outer:5', [1, 5_000]],
      ['(anonymous):7 < outer:5', [2, 30_000]],
    ]);
    expect(Number(Profile.decode(gunzipSync(packed)).durationNanos)).toBe(1_035_000);
  });

  test('of memory has the bytes of each stack', async () => {
    const leaf = { callFrame: frame('leaf', 1), selfSize: 64, id: 3, children: [] };
    const outer = { callFrame: frame('outer', 4), selfSize: 0, id: 2, children: [leaf] };
    const head = { callFrame: frame('(root)'), selfSize: 0, id: 1, children: [outer] };
    expect(samplesOf(await heapPprof({ head }))).toEqual([['leaf:2 < outer:5', [64]]]);
  });
});

describe('profile routes', () => {
  let node: ApiNode;
  beforeAll(async () => {
    node = await ApiNode.make();
    await node.start(open);
  });
  afterAll(() => node.remove());

  const ask = (path: string) => get(node.api.ports.secure, path);

  test.each([
    ['profile', 2],
    ['heap', 1],
  ])('/debug/pprof/%s returns a profile of the process', async (kind, values) => {
    const answer = await begin(node.api.ports.secure, `/debug/pprof/${kind}?seconds=0.2`);
    expect(answer.headers['content-disposition']).toBe(`attachment; filename="${kind}"`);
    const { sampleType } = Profile.decode(gunzipSync(await buffer(answer)));
    expect(sampleType).toHaveLength(values);
  });

  test('only one profile runs at a time, and it ends with its client', async () => {
    const gone = new AbortController();
    const long = begin(node.api.ports.secure, '/debug/pprof/profile?seconds=300', { signal: gone.signal });
    const ended = expect(long).rejects.toThrow('aborted');
    let refused = await ask('/debug/pprof/heap?seconds=0.001');
    while (refused.status === 200) refused = await ask('/debug/pprof/heap?seconds=0.001');
    expect(refused).toMatchObject({ status: 500, text: expect.stringContaining('another profile') as unknown });
    gone.abort();
    await ended;
    let next = await ask('/debug/pprof/heap?seconds=0.001');
    while (next.status === 500) next = await ask('/debug/pprof/heap?seconds=0.001');
    expect(next.status).toBe(200);
  });

  test('other profiles are listed, or unknown', async () => {
    expect((await ask('/debug/pprof/')).text).toMatch(/href="\.\/profile".*href="\.\/heap".*href="\.\/cmdline"/s);
    expect((await ask('/debug/pprof/cmdline')).text).toBe(process.argv.join('\0'));
    expect(await ask('/debug/pprof/goroutine')).toMatchObject({ status: 404, text: 'Unknown profile\n' });
  });
});
