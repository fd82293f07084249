// Where the agent runs, with a hierarchy of v1 made of files.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { CgroupMounts } from '@kubus/cgroup';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AgentCgroups } from '../../src/kubelet/agent-cgroups.ts';

const MINUTE = 60_000;
let folder: string;
let mounts: CgroupMounts;
let clock: ManualClock;
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-agent-'));
  writeFileSync(join(folder, 'cgroup.procs'), `1\n${process.pid}\n`);
  mounts = { version: 1, controllers: new Map(['cpu', 'memory', 'devices'].map((name) => [name, folder])) };
  clock = new ManualClock();
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const cgroups = (kubeletCgroups: string, systemCgroups: string) =>
  new AgentCgroups({
    ...{ config: { kubeletCgroups, systemCgroups }, mounts, clock, pid: process.pid },
    logger: { ...silentLogger, warn: (fields, text) => void warnings.push(`${JSON.stringify(fields)} ${text}`) },
  });
const members = (cgroup: string) => readFileSync(join(folder, cgroup, 'cgroup.procs'), 'utf8');
const isMember = (cgroup: string) => existsSync(join(folder, cgroup, 'cgroup.procs')) && members(cgroup) !== '';

test('the agent and the system’s programs are moved at the start, and each minute', async () => {
  const kept = cgroups('/agent', '/system');
  expect(await kept.start()).toBe('/agent');
  expect([members('agent'), members('system')]).toEqual([String(process.pid), String(process.pid)]);
  for (const cgroup of ['agent', 'system']) writeFileSync(join(folder, cgroup, 'cgroup.procs'), '');
  await clock.advance(MINUTE);
  while (!isMember('agent') || !isMember('system')) await nextTurn();
  expect([members('agent'), members('system')]).toEqual([String(process.pid), String(process.pid)]);
  kept.stop();
  writeFileSync(join(folder, 'agent/cgroup.procs'), '');
  await clock.advance(2 * MINUTE);
  expect(members('agent')).toBe('');
  expect(warnings).toEqual([]);
});

test('without a configured cgroup the agent stays where it is', async () => {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').split('\n');
  const [cpu, memory] = ['cpu', 'memory'].map((name) =>
    lines.find((line) => line.split(':')[1]?.split(',').includes(name)),
  );
  const path = await cgroups('', '').start();
  if (cpu !== undefined && cpu.split(':')[2] !== memory?.split(':')[2]) expect(path).toBe('');
  expect(existsSync(join(folder, 'agent'))).toBe(false);
  await clock.advance(MINUTE);
  expect(members('')).toBe(`1\n${process.pid}\n`);
});

test('what fails is logged, and tried again', async () => {
  writeFileSync(join(folder, 'agent'), 'not a cgroup');
  const kept = cgroups('/agent', '');
  expect(await kept.start()).toBe('/agent');
  expect(warnings).toEqual([expect.stringContaining('Failed to ensure state')]);
  rmSync(join(folder, 'agent'));
  await clock.advance(MINUTE);
  while (!isMember('agent')) await nextTurn();
  expect(members('agent')).toBe(String(process.pid));
  kept.stop();
});

test('the topmost cgroup cannot be that of the system’s programs', () => {
  expect(() => cgroups('', '/')).toThrow('Failed to start ContainerManager: system container cannot be root ("/")');
});
