import { expect, test } from '@jest/globals';
import { REDACTED, textWithoutSecrets, withoutSecrets } from './without-secrets.ts';

const seed = `SU${'A'.repeat(56)}`;

test.each([
  ['tls://user:pa55@hub.example:7422/x', `tls://${REDACTED}@hub.example:7422/x`],
  ['GET https://example.com/a?b=c', 'GET https://example.com/a?b=c'],
  ['Authorization: Bearer abcdefgh.ijk', `Authorization: Bearer ${REDACTED}`],
  ['token eyJhbGciOi.eyJzdWIi.c2ln end', `token ${REDACTED} end`],
  [`key ${seed}.`, `key ${REDACTED}.`],
  ['a -----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY----- b', `a ${REDACTED} b`],
  ['cut -----BEGIN PRIVATE KEY-----\nMHcC', `cut ${REDACTED}`],
  ['run --db-password=hunter2 --name x', `run --db-password=${REDACTED} --name x`],
  ['API_KEY: "a b" next', `API_KEY: ${REDACTED} next`],
  ['pod web, container main, exit code 1', 'pod web, container main, exit code 1'],
])('of the text %j is left %j', (text, expected) => {
  expect(textWithoutSecrets(text)).toBe(expected);
});

test('a document keeps its form and loses its secrets', () => {
  const spec = {
    containers: [
      {
        name: 'main',
        args: ['--token=abc', '--verbose'],
        env: [
          { name: 'A', value: 'hunter2' },
          { name: 'B', valueFrom: { secretKeyRef: { name: 'keys', key: 'b' } } },
        ],
      },
    ],
    volumes: [{ name: 'v', secret: { secretName: 'keys' } }],
    tokenExpirationSeconds: 3600,
  };
  const document = {
    spec,
    natsPassword: 'x',
    'api-token': 'y',
    credentials: 'z',
    privateKey: 'k',
    count: 3,
    none: null,
  };
  expect(withoutSecrets(document)).toEqual({
    spec: {
      ...spec,
      containers: [
        {
          name: 'main',
          args: [`--token=${REDACTED}`, '--verbose'],
          env: [{ name: 'A', value: REDACTED }, spec.containers[0]?.env[1]],
        },
      ],
    },
    ...{ natsPassword: REDACTED, 'api-token': REDACTED, credentials: REDACTED, privateKey: REDACTED },
    ...{ count: 3, none: null },
  });
});
