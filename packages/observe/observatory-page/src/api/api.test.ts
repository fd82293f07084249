import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { address } from './address.ts';
import { ApiError, adviceFor, errorOfResponse } from './api-error.ts';
import { readEvents } from './event-stream.ts';
import { splitFragment, tokenIn } from './token.ts';

async function eventsOf(chunks: readonly string[]): Promise<string[]> {
  const stream = async function* (): AsyncGenerator<string> {
    for (const chunk of chunks) yield await Promise.resolve(chunk);
  };
  const events: string[] = [];
  for await (const event of readEvents(stream())) events.push(event);
  return events;
}

test('an event is parsed completely however the stream is split', async () => {
  const line = fc.string({ unit: 'grapheme-ascii' }).map((text) => text.replaceAll(/[\r\n]/g, ' '));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(line, { minLength: 1, maxLength: 3 }), { maxLength: 5 }),
      fc.constantFrom('\n', '\r\n'),
      fc.array(fc.nat(40), { maxLength: 30 }),
      async (events, end, cuts) => {
        const text = events.map((lines) => lines.map((one) => `data: ${one}${end}`).join('') + end).join('');
        const places = [...new Set(cuts.map((cut) => Math.min(cut, text.length)))].sort((a, b) => a - b);
        const chunks = [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
        expect(await eventsOf(chunks)).toEqual(events.map((lines) => lines.join('\n')));
      },
    ),
  );
});

test('comments, other fields and incomplete events are ignored', async () => {
  expect(await eventsOf([': hello\n\nevent: tick\nid: 1\ndata:one\n\n', 'data: two'])).toEqual(['one']);
});

test('an API error is shown with its message', () => {
  const error = errorOfResponse(404, '{"error":{"code":"no-pod","message":"there is no pod x"}}');
  expect(error).toMatchObject({ status: 404, code: 'no-pod', message: 'there is no pod x' });
  expect(adviceFor(error)).toContain('another recording');
});

test.each(['', '<html>', 'null', '{"error":"oops"}', '{"error":{"code":1}}'])(
  'a response %p without a message shows its status',
  (body) => {
    expect(errorOfResponse(502, body)).toMatchObject({
      code: 'http-502',
      message: 'the observatory answered with 502',
    });
  },
);

test('errors that the user can resolve have a hint', () => {
  expect(adviceFor(new ApiError(0, 'unreachable', ''))).toContain('kubus observatory');
  expect(adviceFor(new ApiError(401, 'no-token', ''))).toContain('token');
  expect(adviceFor(new ApiError(404, 'no-contract', ''))).toBeUndefined();
  expect(adviceFor(new Error('other'))).toBeUndefined();
});

test.each([
  ['#token=abc', 'abc', ''],
  ['#token=a%2Bb', 'a+b', ''],
  ['#token=abc&/~live/map', 'abc', '#/~live/map'],
  ['#token=abc/~live/map', 'abc', '#/~live/map'],
  ['#/~live/map', undefined, '#/~live/map'],
  ['', undefined, ''],
])('fragment %p has the token %p; %p remains', (fragment, token, rest) => {
  expect(splitFragment(fragment)).toEqual({ token, rest });
});

test('addresses escape their parts and omit absent ones', () => {
  expect(address(['recordings', '~live', 'pods'])).toBe('/recordings/~live/pods');
  expect(address(['recordings', 'a b/c'], { from: 1.5, type: undefined, pod: 'x&y' })).toBe(
    '/recordings/a%20b%2Fc?from=1.5&pod=x%26y',
  );
});

test.each([
  ['http://127.0.0.1:8470/#token=abc', 'abc'],
  [' http://127.0.0.1:8470/#token=abc&/~live/map\n', 'abc'],
  ['0123456789abcdef0123_-', '0123456789abcdef0123_-'],
  ['http://127.0.0.1:8470/', undefined],
  ['http://127.0.0.1:8470/#/~live/map', undefined],
  ['', undefined],
])('what is pasted as %p has the token %p', (pasted, token) => {
  expect(tokenIn(pasted)).toBe(token);
});
