import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { cpuCheckpoint, memoryCheckpoint, parseCpuCheckpoint, parseMemoryCheckpoint } from '../src/index.ts';
import { randomSequence } from './random-sequence.ts';
import { randomWholeSequence } from './random-whole-sequence.ts';
import { answersTo, machine, summary } from './sequences.ts';

/** By seed. */
function keptAnswers(name: string): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(new URL(`data/${name}.json`, import.meta.url), 'utf8')) as Record<string, string>;
}

test.each([
  ['pods', 'reference-answers', 200, randomSequence],
  ['pods with resources of their own', 'reference-whole-answers', 100, randomWholeSequence],
])(
  'the same %s are admitted, and get the same CPUs and memory, as with the reference',
  (_, name, least, sequenceOf) => {
    const kept = keptAnswers(name);
    const seeds = Object.keys(kept).map(Number);
    expect(seeds.length).toBeGreaterThan(least);
    const wrong = seeds.filter((seed) => {
      const sequence = sequenceOf(seed);
      return summary(answersTo(machine(sequence.machine), sequence.config, sequence.steps)) !== kept[seed];
    });
    expect(wrong).toEqual([]);
  },
);

/** Written by the reference's packages. */
const cpuFile =
  '{"policyName":"static","defaultCpuSet":"0-3,8","entries":{"a":{"x":"7"},"b":{"a":"5-6","z":"4"}},"checksum":1275057781}';
const memoryFile =
  '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":2,"memoryMap":{"hugepages-2Mi":{"total":6,"systemReserved":0,"allocatable":6,"reserved":2,"free":4},"memory":{"total":5,"systemReserved":1,"allocatable":4,"reserved":1,"free":3}},"cells":[0]},"2":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":9,"systemReserved":0,"allocatable":9,"reserved":0,"free":9}},"cells":[2]}},"entries":{"a":{"x":[{"numaAffinity":[0],"type":"hugepages-2Mi","size":2},{"numaAffinity":[0],"type":"memory","size":1}]}},"checksum":3852967197}';

const at = { policyName: 'static', path: '/var/lib/kubelet/cpu_manager_state' };
const memoryAt = { policyName: 'Static', path: '/var/lib/kubelet/memory_manager_state' };

test('a checkpoint of the reference is read, and written with the same bytes', () => {
  const cpu = parseCpuCheckpoint(cpuFile, at);
  if ('problem' in cpu) throw new Error(cpu.problem);
  expect(cpu).toEqual({ shared: [0, 1, 2, 3, 8], cpus: { a: { x: [7] }, b: { a: [5, 6], z: [4] } }, podCpus: {} });
  expect(cpuCheckpoint('static', cpu)).toBe(cpuFile);
  const memory = parseMemoryCheckpoint(memoryFile, memoryAt);
  if ('problem' in memory) throw new Error(memory.problem);
  expect(memoryCheckpoint('Static', memory)).toBe(memoryFile);
});

test('a manager that allocates nothing writes what the reference writes', () => {
  expect(memoryCheckpoint('None', { nodes: {}, memory: {}, podMemory: {} })).toBe(
    '{"policyName":"None","machineState":{},"checksum":4236770233}',
  );
});

describe('with what pods have as a whole', () => {
  const podLevel = true;
  /** The checksums are the reference's. */
  const cpuText =
    '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"podEntries":{"pod":{"cpuSet":"4-6"}},"checksum":2649431787}';
  const memoryText =
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},"podEntries":{"pod":{"memoryBlocks":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":1278640530}';

  test('a checkpoint of the reference is read, and written with the same bytes', () => {
    const cpu = parseCpuCheckpoint(cpuText, { ...at, policyName: 'none', podLevel });
    if ('problem' in cpu) throw new Error(cpu.problem);
    expect(cpu.podCpus).toEqual({ pod: [4, 5, 6] });
    expect(cpuCheckpoint('none', cpu, podLevel)).toBe(cpuText);
    const memory = parseMemoryCheckpoint(memoryText, { ...memoryAt, policyName: 'static', podLevel });
    if ('problem' in memory) throw new Error(memory.problem);
    expect(memory.podMemory).toEqual({ pod: [{ numaAffinity: [0], type: 'memory', size: 512 }] });
    expect(memoryCheckpoint('static', memory, podLevel)).toBe(memoryText);
  });

  test('one that was written without the gate is read with it, but not the other way round', () => {
    expect(parseCpuCheckpoint(cpuFile, { ...at, podLevel })).toMatchObject({ shared: [0, 1, 2, 3, 8], podCpus: {} });
    expect(parseMemoryCheckpoint(memoryFile, { ...memoryAt, podLevel })).toMatchObject({ podMemory: {} });
    const corrupted = { problem: expect.stringContaining('checkpoint is corrupted') as unknown };
    expect(parseCpuCheckpoint(cpuText, { ...at, policyName: 'none' })).toEqual(corrupted);
    expect(parseMemoryCheckpoint(memoryText, { ...memoryAt, policyName: 'static' })).toEqual(corrupted);
  });
});

test.each([
  [
    'configured policy "static" differs from state checkpoint policy "none"',
    '{"policyName":"none","defaultCpuSet":"","checksum":0}',
  ],
  ['checkpoint is corrupted', cpuFile.replace('0-3,8', '0-3')],
  ['could not parse default cpu set "8-3"', '{"policyName":"static","defaultCpuSet":"8-3","checksum":0}'],
  [
    'could not parse cpuset "x" for container "c" in pod "p"',
    '{"policyName":"static","defaultCpuSet":"0","entries":{"p":{"c":"x"}},"checksum":0}',
  ],
  ['defaultCpuSet: Invalid input: expected string, received undefined', '{"policyName":"static","checksum":0}'],
])('a checkpoint of CPUs is refused: %s', (problem, text) => {
  expect(parseCpuCheckpoint(text, at)).toEqual({
    problem: `could not restore state from checkpoint: ${problem}, please drain this node and delete the CPU manager checkpoint file "/var/lib/kubelet/cpu_manager_state" before restarting Kubelet`,
  });
});

test.each([
  [
    '[memorymanager] configured policy "Static" differs from state checkpoint policy "None"',
    '{"policyName":"None","machineState":{},"checksum":4236770233}',
  ],
  ['checkpoint is corrupted', memoryFile.replace('"size":2', '"size":3')],
])('a checkpoint of memory is refused: %s', (problem, text) => {
  expect(parseMemoryCheckpoint(text, memoryAt)).toEqual({
    problem: `could not restore state from checkpoint: ${problem}, please drain this node and delete the memory manager checkpoint file "/var/lib/kubelet/memory_manager_state" before restarting Kubelet`,
  });
});
