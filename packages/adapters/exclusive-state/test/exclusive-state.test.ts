import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExclusiveState, ExclusiveStateError } from '../src/index.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exclusive-state-'));
});
afterEach(() => rm(folder, { recursive: true }));

const policies = { cpu: 'static', memory: 'Static' };
const table = { total: 8, systemReserved: 2, allocatable: 6, reserved: 3, free: 3 };
const ledger = {
  shared: [0, 3],
  cpus: { p: { c: [1, 2] } },
  podCpus: {},
  nodes: { 0: { numberOfAssignments: 1, memoryMap: { memory: table }, cells: [0] } },
  memory: { p: { c: [{ numaAffinity: [0], type: 'memory', size: 3 }] } },
  podMemory: {},
};

test('what was written is read again, and a write that was cut off is none', async () => {
  const state = new ExclusiveState(folder, policies);
  expect(await state.read()).toEqual({});
  await state.writeCpus({ ...ledger, cpus: {}, shared: [0, 1, 2, 3] });
  await state.writeCpus(ledger);
  await state.writeMemory(ledger);
  await writeFile(join(folder, 'cpu_manager_state.part'), '{"policyName":');
  expect(await new ExclusiveState(folder, policies).read()).toEqual(ledger);
  await state.writeCpus({ ...ledger, cpus: {}, shared: [0, 1, 2, 3] });
  expect((await readdir(folder)).toSorted()).toEqual(['cpu_manager_state', 'memory_manager_state']);
  const text = await readFile(join(folder, 'cpu_manager_state'), 'utf8');
  expect(JSON.parse(text)).toMatchObject({ policyName: 'static', defaultCpuSet: '0-3' });
});

test('with the gate, what pods have as a whole is written and read', async () => {
  const whole = {
    ...ledger,
    podCpus: { p: [1, 2] },
    podMemory: { p: [{ numaAffinity: [0], type: 'memory', size: 3 }] },
  };
  const state = new ExclusiveState(folder, { ...policies, podLevel: true });
  await state.writeCpus(whole);
  await state.writeMemory(whole);
  expect(await state.read()).toEqual(whole);
});

test('files that the reference 1.36 has left with a pod on CPU 1 are read, and written with the same bytes', async () => {
  const data = new URL('data', import.meta.url);
  await cp(data, folder, { recursive: true });
  const state = new ExclusiveState(folder, policies);
  const left = await state.read();
  expect(left).toMatchObject({ shared: [0], cpus: { '0b8b75fa-a592-4ea8-86d4-b347dbd44aa2': { main: [1] } } });
  const { cpus, shared, nodes, memory } = left;
  if (!cpus || !shared || !nodes || !memory) throw new Error('something was not read');
  for (const name of await readdir(folder)) await rm(join(folder, name));
  await state.writeCpus({ shared, cpus, podCpus: {} });
  await state.writeMemory({ nodes, memory, podMemory: {} });
  for (const name of await readdir(data)) {
    expect(await readFile(join(folder, name), 'utf8')).toBe(
      await readFile(new URL(`data/${name}`, import.meta.url), 'utf8'),
    );
  }
});

test('a file of another policy is refused in the reference’s words, which name it', async () => {
  const path = join(folder, 'cpu_manager_state');
  await new ExclusiveState(folder, policies).writeCpus(ledger);
  const refused = new ExclusiveState(folder, { cpu: 'none', memory: 'None' }).read();
  const why = 'configured policy "none" differs from state checkpoint policy "static"';
  const message = `could not restore state from checkpoint: ${why}, please drain this node and delete the CPU manager checkpoint file "${path}" before restarting Kubelet`;
  await expect(refused).rejects.toEqual(new ExclusiveStateError('bad-cpu-state', message));
});

test.each(['cpu', 'memory'])('a damaged file of the %s manager is refused', async (kind) => {
  const state = new ExclusiveState(folder, policies);
  await state.writeCpus(ledger);
  await state.writeMemory(ledger);
  const path = join(folder, `${kind}_manager_state`);
  await writeFile(path, (await readFile(path, 'utf8')).replace('static"', 'static" ').replace('"c"', '"d"'));
  await expect(state.read()).rejects.toThrow('checkpoint is corrupted');
});
