import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { nodeAgentEvent, nodeShutdown, shutdownProgress } from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { EventRecorder, Metrics, systemClock as clock } from '@kubus/service-kit';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemLogind } from '../src/shutdown/logind.ts';
import { ShutdownManager } from '../src/shutdown/shutdown-manager.ts';
import { ShutdownTimes } from '../src/shutdown/shutdown-times.ts';
import { TestLogind, hasLogindPrograms } from './test-logind.ts';

const NODE = 'node0';
const given = hasLogindPrograms ? describe : describe.skip;

given('a shutdown of the machine', () => {
  let logind: TestLogind;
  let broker: LocalBroker;
  let managers: ShutdownManager[];
  let heard: { active: boolean; since: string }[];
  let wake: () => void;

  beforeEach(async () => {
    logind = await TestLogind.start();
    broker = new LocalBroker(NODE);
    managers = [];
    heard = [];
    wake = () => undefined;
    broker.join('sync-loop', clock).bus.reader(nodeShutdown, {
      changed: ({ value }) => {
        heard.push(value);
        wake();
      },
    });
  });
  afterEach(async () => {
    for (const manager of managers) manager.stop();
    await logind.stop();
  });

  let epoch = 0;
  function start(totalMs: number): { manager: ShutdownManager; metrics: Metrics } {
    const { bus } = broker.join('node-agent', clock, ++epoch);
    const times = new ShutdownTimes(logind.folder, silentLogger);
    const metrics = new Metrics({ service: 'node-agent', instance: 'node-agent-0', node: NODE });
    times.show(metrics);
    const manager = new ShutdownManager({
      ...{ bus, clock, logger: silentLogger, totalMs, times, changed: () => undefined },
      logind: systemLogind({ configFolder: logind.folder, env: logind.env }),
      events: new EventRecorder({ bus, clock }).ofNode(nodeAgentEvent),
    });
    managers.push(manager);
    return { manager, metrics };
  }

  /** Resolves with the newest fact when it is so. */
  async function whenActive(active: boolean): Promise<{ since: string }> {
    for (;;) {
      const newest = heard.at(-1);
      if (newest?.active === active) return newest;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  const messages = () =>
    broker.said.flatMap(({ subject, data }) =>
      subject.includes('node.event.recorded') ? [(JSON.parse(data) as { message: string }).message] : [],
    );
  const state = async () =>
    JSON.parse(await readFile(join(logind.folder, 'graceful_node_shutdown_state'), 'utf8')) as Record<string, string>;

  test('waits until the pods have ended, and a cancelled one lets the next be delayed again', async () => {
    const { manager, metrics } = start(8_000);
    await logind.hears('inhibited');
    expect(logind.said).toEqual(['reloaded', 'inhibited']);
    expect(await readFile(join(logind.folder, '99-kubelet.conf'), 'utf8')).toBe(
      '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=8\n',
    );
    expect([heard.length, manager.problem]).toEqual([1, undefined]);

    logind.shutDown();
    const { since } = await whenActive(true);
    expect(manager.problem).toBe('node is shutting down');
    expect(logind.said).not.toContain('released');

    const progress = broker.join('sync-loop', clock, ++epoch).bus.owner(shutdownProgress);
    progress.put(NODE, { since, done: true });
    await logind.hears('released');
    const { startTime, endTime } = await state();
    expect(startTime).toBe(since);
    expect(Date.parse(endTime ?? '')).toBeGreaterThanOrEqual(Date.parse(since));
    const { text: shown } = await metrics.write();
    expect(shown).toMatch(/^kubelet_graceful_shutdown_start_time_seconds\{.*\} [1-9]\d+$/m);
    expect(shown).toMatch(/^kubelet_graceful_shutdown_end_time_seconds\{.*\} [1-9]\d+$/m);

    logind.cancel();
    await whenActive(false);
    await logind.hears('inhibited', 2);
    expect(manager.problem).toBeUndefined();
    expect(messages()).toEqual([
      'Shutdown manager detected shutdown event',
      'Shutdown manager detected shutdown cancellation',
    ]);
    manager.stop();
    await logind.hears('released', 2);
  });

  test('that has begun is known to an agent that starts, and a signal of anybody else counts for nothing', async () => {
    start(1_000);
    await logind.hears('inhibited');
    const signal = ['/org/freedesktop/login1', 'org.freedesktop.login1.Manager', 'PrepareForShutdown', 'b', 'true'];
    await promisify(execFile)('busctl', ['--system', 'emit', ...signal], { env: logind.env });
    logind.cancel();
    await logind.hears('inhibited', 2);
    expect(heard.some(({ active }) => active)).toBe(false);

    logind.shutDown();
    await whenActive(true);
    managers[0]?.stop();
    heard.length = 0;
    const { manager } = start(1_000);
    await whenActive(true);
    expect(manager.problem).toBe('node is shutting down');
  });
});
