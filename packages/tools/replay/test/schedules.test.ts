import { expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import { type LifeReport, replay, replayFile } from '../src/index.ts';
import { inFile, journaled, recordSchedule } from './recorded-schedule.ts';

/** Number of messages that must be reproduced as recorded. */
const ENOUGH = process.env['KUBUS_TEST_SOAK'] === '1' ? 100_000 : 10_000;

/** Some messages that the broker accepted are lost with it before they are stored, so they cannot be compared. */
const MOST_UNRECORDED = 0.02;

test('a replay publishes the recorded messages of services that were killed, message by message', async () => {
  const reports: LifeReport[] = [];
  const sum = (of: (report: LifeReport) => number) => reports.reduce((total, report) => total + of(report), 0);
  let published = 0;
  for (let seed = 1; sum(({ equal }) => equal) < ENOUGH; seed++) {
    const messages = await recordSchedule(seed);
    const ids = messages
      .filter(({ message: { headers } }) =>
        journaled.some((service) => headers[HEADER.source]?.match(`^${service}-\\d+$`)),
      )
      .map(({ message: { headers } }) =>
        [HEADER.source, HEADER.epoch, HEADER.seq].map((name) => headers[name]).join('.'),
      );
    published += new Set(ids).size;
    for (const report of await replay(messages)) {
      expect({ seed, ...report }).toMatchObject({ notCovered: 0 });
      expect({ seed, ...report, difference: undefined, gap: undefined }).toEqual({ seed, ...report });
      reports.push(report);
    }
  }
  // Nothing was skipped: all recorded messages of these services were compared.
  expect(sum(({ equal }) => equal)).toBe(published);
  expect(sum(({ unrecorded }) => unrecorded)).toBeLessThan(MOST_UNRECORDED * published);
  // Services were killed: there are more lives than instances.
  expect(reports.filter(({ epoch }) => epoch > 3).length).toBeGreaterThan(10);
});

test('a replay of a file gives the same result, as a whole and up to a message', async () => {
  const messages = await recordSchedule(1);
  const half = { until: messages[messages.length >> 1]?.seq };
  const reports = await replay(messages);
  expect(reports.reduce((sum, { equal }) => sum + equal, 0)).toBeGreaterThan(0);
  await inFile(messages, async (reader) => {
    expect(await replayFile(reader)).toEqual(reports);
    expect(await replayFile(reader, half)).toEqual(await replay(messages, half));
    expect(await replayFile(reader, { service: 'sync-loop' })).toEqual(
      await replay(messages, { service: 'sync-loop' }),
    );
  });
}, 120_000);
