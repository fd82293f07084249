import { expect, test } from '@jest/globals';
import { podSchema } from '@kubus/contracts';
import { parsePortPair } from './port-pairs.ts';

const pod = podSchema.parse({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: [{ name: 'a' }, { name: 'b', ports: [{ name: 'http', containerPort: 8080 }] }] },
});

test.each([
  ['80', { local: 80, remote: 80 }],
  ['8000:80', { local: 8000, remote: 80 }],
  [':80', { local: 0, remote: 80 }],
  ['http', { local: 8080, remote: 8080 }],
  ['1:http', { local: 1, remote: 8080 }],
])('%j is a valid pair of ports', (text, pair) => {
  expect(parsePortPair(text, pod)).toEqual(pair);
});

test.each([
  ['0', 'pod web has no port "0"'],
  ['65536', 'has no port "65536"'],
  ['80:https', 'has no port "https"'],
  ['80:', 'has no port ""'],
  ['1:2:3', 'has no port ""'],
  ['http:80', 'ports are LOCAL:REMOTE'],
  ['99999:80', 'ports are LOCAL:REMOTE'],
])('%j is refused', (text, message) => {
  expect(() => parsePortPair(text, pod)).toThrow(message);
});
