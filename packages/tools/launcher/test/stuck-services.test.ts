import { describe, expect, test } from '@jest/globals';
import { HEADER, Publisher } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { factKey, launcherNodeEvent, serviceInstance, stuckService, typeOf } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import { watch } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type StartedProcess, startProcess } from '../src/processes/start-process.ts';
import { StuckServices } from '../src/processes/stuck-services.ts';
import { Supervisor } from '../src/processes/supervisor.ts';
import { afterTest, testNode } from './support.ts';

const program = fileURLToPath(new URL('stuck-program.ts', import.meta.url));
const instance = 'prober-0';

/** The process that the supervisor starts first is stuck in this way; those that follow are not. */
async function nodeWith(how: string) {
  const dir = await testNode();
  const broker = new LocalBroker('n');
  const launcher = broker.join('launcher', systemClock).bus;
  const statuses: string[] = [];
  const pids: number[] = [];
  let changed: () => void = () => undefined;
  const file = join(dir.root, 'port');
  const start = async (): Promise<StartedProcess> => {
    for (const old of [file, `${file}.answered`]) await rm(old, { force: true });
    const started = await startProcess({
      ...{ dir, what: instance, log: join(dir.logs, 'prober.log') },
      command: [
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        program,
        file,
        pids.length === 0 ? how : 'gentle',
      ],
    });
    const http = `127.0.0.1:${await numberIn(dir.root, file)}`;
    await announce(broker, pids.length + 1, { pid: started.pid, http });
    return started;
  };
  const supervisor = new Supervisor({
    logger: silentLogger,
    events: {
      started: (_what, pid) => {
        pids.push(pid);
        changed();
      },
      ended: (_what, _pid, status) => statuses.push(status),
    },
  });
  let paused = false;
  let looks = 0;
  const stuck = new StuckServices({
    ...{ bus: launcher, clock: systemClock, logger: silentLogger, everyMs: 50, soonMs: 50, answerMs: 500 },
    running: () => {
      const pid = supervisor.pid(instance);
      return pid === undefined ? [] : [{ what: instance, pid }];
    },
    instancesIn: (what) => [what],
    isPaused: () => {
      looks += 1;
      changed();
      return paused;
    },
    restart: (what) => supervisor.restart(what, 200),
  });
  afterTest(() => {
    stuck.stop();
    supervisor.stop();
    return Promise.resolve();
  });
  supervisor.keep(instance, start);
  const untilIt = async (holds: () => boolean) => {
    while (!holds()) await new Promise<void>((resolve) => (changed = resolve));
  };
  const until = (count: number) => untilIt(() => pids.length >= count);
  /** Resolves to the process when it has answered once. */
  const answered = async () => {
    await until(1);
    await numberIn(dir.root, `${file}.answered`);
    return pids[0] ?? 0;
  };
  /** Resolves after so many looks at the processes. */
  const afterLooks = (count: number) => {
    const wanted = looks + count;
    return untilIt(() => looks >= wanted);
  };
  const said = (type: string) =>
    broker.said.filter(({ headers }) => headers[HEADER.type] === type && !('Kubus-Removed' in headers));
  return { supervisor, statuses, until, answered, afterLooks, said, pause: (value: boolean) => (paused = value) };
}

/** The number that a program writes to a file in this folder. */
async function numberIn(folder: string, file: string): Promise<number> {
  for (;;) {
    const changes = Promise.withResolvers<undefined>();
    const watcher = watch(folder, () => changes.resolve(undefined));
    try {
      const number = Number(await readFile(file, 'utf8').catch(() => ''));
      if (number > 0) return number;
      await changes.promise;
    } finally {
      watcher.close();
    }
  }
}

/** As an instance does that serves. */
async function announce(broker: LocalBroker, epoch: number, self: { pid: number; http: string }): Promise<void> {
  const ports = { clock: systemClock, ids: systemIds };
  const publisher = new Publisher({ publisherId: { node: 'n', instance, epoch }, ...ports });
  const { headers } = publisher.stamp(serviceInstance, {});
  const value = { service: 'prober', epoch, version: '0', startedAt: 'now', ...self };
  const { transport } = broker.join('prober', systemClock, epoch).bus;
  const fact = { data: JSON.stringify(value), headers: { ...headers, [HEADER.version]: '1' } };
  await transport.storeFact(factKey(serviceInstance, instance), fact);
}

describe('a service that no longer answers is ended and started again, counted and reported:', () => {
  test('one in an endless loop, which takes no SIGTERM', async () => {
    const { until, statuses, said } = await nodeWith('loop');
    await until(2);
    expect(statuses).toEqual(['SIGKILL']);
    const facts = said(typeOf(stuckService)).map(({ data }) => JSON.parse(data) as { count: number; reason: string });
    expect(facts).toMatchObject([{ count: 1, reason: 'no answer to /healthz within 0.5 s' }]);
    const events = said(typeOf(launcherNodeEvent)).map(({ data }) => JSON.parse(data) as object);
    expect(events).toMatchObject([
      {
        ...{ type: 'Warning', reason: 'ServiceStuck', node: 'n' },
        message: 'prober-0 is ended and started again: no answer to /healthz within 0.5 s',
      },
    ]);
  });

  test('one that is stopped (SIGSTOP)', async () => {
    const { until, answered, statuses, said } = await nodeWith('gentle');
    process.kill(await answered(), 'SIGSTOP');
    await until(2);
    expect(statuses).toEqual(['SIGTERM']);
    expect(said(typeOf(stuckService))).toHaveLength(1);
  });

  test('one whose own checks fail', async () => {
    const { until, said } = await nodeWith('sick');
    await until(2);
    expect(said(typeOf(stuckService)).map(({ data }) => (JSON.parse(data) as { reason: string }).reason)).toEqual([
      'file threads: no answer for 40 s',
    ]);
  });
});

test('a process that a fault has paused is not stuck, and is watched again afterwards', async () => {
  const { until, answered, afterLooks, said, pause } = await nodeWith('gentle');
  const pid = await answered();
  pause(true);
  process.kill(pid, 'SIGSTOP');
  await afterLooks(10);
  expect(said(typeOf(stuckService))).toEqual([]);
  pause(false);
  await until(2);
});

test.each(['SIGSTOP', undefined] as const)(
  'restart ends a process that does not react to SIGTERM: %s',
  async (signal) => {
    const { until, answered, supervisor, statuses } = await nodeWith(signal === undefined ? 'stubborn' : 'gentle');
    const pid = await answered();
    if (signal !== undefined) process.kill(pid, signal);
    expect(await supervisor.restart(instance, 200)).toBe(true);
    await until(2);
    expect(statuses).toEqual([signal === undefined ? 'SIGKILL' : 'SIGTERM']);
  },
);
