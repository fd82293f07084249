import { expect, test } from '@jest/globals';
import { Progress, step } from './start-steps.ts';

/** What is printed by a progress with these options. */
async function printed(act: (progress: Progress) => Promise<void>, verbose?: boolean): Promise<string> {
  let text = '';
  await act(new Progress({ write: (part: string) => (text += part) !== '' }, verbose));
  return text.replaceAll(/\d+\.\d s/g, 'TIME');
}

const start = async (progress: Progress) => {
  await step(progress, 'building', () => Promise.resolve());
  progress.begin('starting NATS');
  progress.detail('listening\u001b[31m');
  progress.detail('ready');
  progress.begin('starting the services');
  progress.line('node a runs');
};

test('each step is one line with its duration', async () => {
  expect(await printed(start)).toBe(
    'kubus: building ... TIME\nkubus: starting NATS ... TIME\nkubus: starting the services ... TIME\nnode a runs\n',
  );
});

test('with details they are lines of their own, without control sequences', async () => {
  expect(await printed(start, true)).toBe(
    [
      'kubus: building ... TIME',
      'kubus: starting NATS ... ',
      '  listening\\u001b[31m',
      '  ready',
      'kubus: starting NATS ... TIME',
      'kubus: starting the services ... TIME',
      'node a runs\n',
    ].join('\n'),
  );
});
