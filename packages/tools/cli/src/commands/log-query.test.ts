import { expect, test } from '@jest/globals';
import { logQuery } from './logs.ts';

test.each([
  [{}, []],
  [
    { follow: true, previous: true, timestamps: true, tail: 0, limitBytes: 7 },
    [
      ...[
        ['follow', 'true'],
        ['previous', 'true'],
        ['timestamps', 'true'],
      ],
      ...[
        ['tailLines', '0'],
        ['limitBytes', '7'],
      ],
    ],
  ],
  [{ since: 1_000_000_000n }, [['sinceTime', '1970-01-01T00:00:04.000000000Z']]],
  [{ tail: undefined, prefix: true, allContainers: true }, []],
])('options %j become this log query', (options, query) => {
  expect(logQuery(options, 5_000)).toEqual(query);
});
