import { describe, expect, test } from '@jest/globals';
import { SealKey } from '@kubus/service-kit';
import * as fc from 'fast-check';
import { cutOutput, openCommand, pageOf, sealUrl } from './plain-commands.ts';

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 30 });

/** Requests page after page. */
function pages(items: readonly { id: string }[], limit: number): { id: string }[][] {
  const all: { id: string }[][] = [];
  for (let after: string | undefined; ;) {
    const { response, next } = pageOf('ListContainers', { containers: [...items] }, { limit, after });
    all.push(response.containers);
    if (next === undefined) return all;
    after = next;
  }
}

describe('a list in pages', () => {
  test('has every item once, in the order of IDs, in pages no larger than requested', () => {
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 7 }), (names, limit) => {
        const read = pages(
          names.map((id) => ({ id })),
          limit,
        );
        expect(read.flat().map(({ id }) => id)).toEqual([...names].sort());
        expect(read).toHaveLength(Math.max(1, Math.ceil(names.length / limit)));
        for (const page of read) expect(page.length).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test('misses no item that exists throughout while others are added and removed between the pages', () => {
    const first = pageOf('ListImages', { images: [{ id: 'a' }, { id: 'c' }, { id: 'e' }] }, { limit: 2 });
    expect(first.next).toBe('c');
    const second = pageOf('ListImages', { images: [{ id: 'b' }, { id: 'd' }, { id: 'e' }] }, { limit: 2, after: 'c' });
    expect(second).toEqual({ response: { images: [{ id: 'd' }, { id: 'e' }] }, next: undefined });
  });

  test('is also split when the caller requests no pages', () => {
    const items = Array.from({ length: 101 }, (_, index) => ({ id: String(index).padStart(3, '0') }));
    const { response, next } = pageOf('ListPodSandbox', { items }, undefined);
    expect([response.items.length, next]).toEqual([100, '099']);
  });

  test.each([
    ['ListContainerStats', 'stats', { attributes: { id: 'a' } }, { attributes: { id: 'b' } }],
    ['ListPodSandboxStats', 'stats', { attributes: { id: 'a' } }, { attributes: { id: 'b' } }],
    ['ListPodSandboxMetrics', 'podMetrics', { podSandboxId: 'a' }, { podSandboxId: 'b' }],
  ] as const)('%s distinguishes its items as well', (method, field, a, b) => {
    expect(pageOf(method, { [field]: [b, a] }, { limit: 1 })).toEqual({ response: { [field]: [a] }, next: 'a' });
    expect(pageOf(method, { [field]: [b, a] }, { limit: 1, after: 'a' })).toMatchObject({ next: undefined });
  });

  test('is left whole when the answer is not a list, and other fields are kept', () => {
    const answer = { version: '1', containers: [{ id: 'a' }] };
    expect(pageOf('Version', answer, { limit: 1 })).toEqual({ response: answer, next: undefined });
    expect(pageOf('ListContainers', { ...answer }, undefined)).toEqual({ response: answer, next: undefined });
    expect(pageOf('ListContainers', {}, undefined).response).toEqual({ containers: [] });
  });
});

describe('the output of a command', () => {
  const answer = (exitCode: number, stdout: string, stderr: string) => ({
    exitCode,
    stdout: Buffer.from(stdout).toString('base64'),
    stderr: Buffer.from(stderr).toString('base64'),
  });

  test.each([
    ['is left whole for a caller that wants it', answer(0, 'out', 'err'), undefined, answer(0, 'out', 'err')],
    ['is left out if the command succeeds', answer(0, 'out', 'err'), 100, answer(0, '', '')],
    ['is left out for a caller that shows none of it', answer(1, 'out', 'err'), 0, answer(1, '', '')],
    ['is cut to what is shown of a failure', answer(1, 'out', 'err'), 4, answer(1, 'out', 'e')],
    ['is cut within the standard output', answer(1, 'out', 'err'), 2, answer(1, 'ou', '')],
  ])('%s', (_what, response, bytes, expected) => {
    expect(cutOutput(response, bytes)).toEqual(expected);
  });
});

test('the address of a stream is sealed for the reader that is named', () => {
  const [key, reader] = [new SealKey(), new SealKey()];
  const answer = { url: 'http://127.0.0.1:1/exec/token' };
  expect(sealUrl(answer, key, undefined)).toEqual({ response: answer });
  expect(sealUrl({ pods: [] }, key, reader.publicKey)).toEqual({ response: { pods: [] } });
  const { response, sealedUrl = { by: '', box: '' } } = sealUrl(answer, key, reader.publicKey);
  expect(response).toEqual({ url: '' });
  expect(reader.open(sealedUrl)).toBe(answer.url);
});

test('a command that was sealed for the bridge is opened, and no other', () => {
  const [key, sender] = [new SealKey(), new SealKey()];
  const params = { containerId: 'c', stdout: true };
  const sealed = (text: string, reader = key.publicKey) => ({ params, command: sender.seal(text, reader) });
  expect(openCommand<'Exec'>(sealed('["ls","-l"]'), key)).toEqual({ ...params, cmd: ['ls', '-l'] });
  expect(openCommand<'Exec'>({ params: { ...params, cmd: ['ls'] } }, key)).toEqual({ ...params, cmd: ['ls'] });
  for (const text of ['ls', '"ls"', '[1]', '{}']) expect(() => openCommand<'Exec'>(sealed(text), key)).toThrow();
  expect(() => openCommand<'Exec'>(sealed('["ls"]', sender.publicKey), key)).toThrow('for another reader');
});
