import { expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { isRunning } from '../src/processes/process-record.ts';
import { type StartedProcess, startProcess } from '../src/processes/start-process.ts';
import { Supervisor } from '../src/processes/supervisor.ts';
import { afterTest, testNode } from './support.ts';

/** A supervisor of `sleep`, with the processes that it has started so far. */
async function supervised() {
  const dir = await testNode();
  const started: StartedProcess[] = [];
  const listeners = new Set<() => void>();
  const start = async (): Promise<StartedProcess> => {
    const one = await startProcess({
      dir,
      what: 'sleeper',
      command: ['sleep', '1000'],
      log: join(dir.logs, 'sleeper'),
    });
    started.push(one);
    return one;
  };
  const supervisor = new Supervisor({
    logger: silentLogger,
    events: {
      started: () => {
        for (const listener of listeners) listener();
      },
      ended: () => undefined,
    },
  });
  afterTest(() => {
    supervisor.stop();
    return Promise.resolve();
  });
  /** Resolves when that many have been started. */
  const count = (wanted: number) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (started.length >= wanted) resolve();
      };
      listeners.add(look);
      look();
    });
  return { supervisor, start, started, count };
}

const running = (processes: readonly StartedProcess[]) => Promise.all(processes.map(({ record }) => isRunning(record)));

test('a released process has ended, and is started again only when it is taken back', async () => {
  const { supervisor, start, started, count } = await supervised();
  supervisor.keep('sleeper', start);
  await count(1);
  await supervisor.release('sleeper');
  expect(await running(started)).toEqual([false]);
  await supervisor.release('sleeper');
  await turn();
  expect(started).toHaveLength(1);
  supervisor.takeBack('sleeper');
  await count(2);
  expect(await running(started)).toEqual([false, true]);
});

test('a process that is released while it is being started ends as well', async () => {
  const { supervisor, start, started } = await supervised();
  supervisor.keep('sleeper', start);
  await supervisor.release('sleeper');
  expect(await running(started)).toEqual([false]);
});

test('a process that the user runs from the beginning is started when it is taken back', async () => {
  const { supervisor, start, started, count } = await supervised();
  supervisor.keepReleased('sleeper', start);
  await turn();
  expect(started).toEqual([]);
  supervisor.takeBack('sleeper');
  await count(1);
  expect(await running(started)).toEqual([true]);
});
