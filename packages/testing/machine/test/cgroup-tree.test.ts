import { expect, test } from '@jest/globals';
import { type CgroupTree, differenceLine, settingsByCgroup, treeDifferences, withNames } from '../src/cgroup-tree.ts';

const versions = {
  distribution: 'd',
  kernel: 'k',
  cgroup: 'v2',
  driver: 'systemd',
  containerd: '2',
  runc: '1',
  nats: '2',
  systemd: '257',
};

function tree(cgroups: CgroupTree['cgroups'], memory = 100): CgroupTree {
  return {
    agent: 'a',
    date: '2026-01-01',
    versions,
    node: { cpus: 1, memory, pids: 7, threads: 9 },
    cgroups,
    units: {},
  };
}

test('settings are read from the lines of grep, files of several lines too', () => {
  const text =
    'kubepods.slice/cpu.weight:39\nkubepods.slice/io.stat:8:0 a=1\nkubepods.slice/io.stat:8:16 a=2\nkubepods.slice/x/cpu.max:max 100000\n';
  expect(Object.fromEntries(settingsByCgroup(text))).toEqual({
    'kubepods.slice': { 'cpu.weight': '39', 'io.stat': '8:0 a=1\n8:16 a=2' },
    'kubepods.slice/x': { 'cpu.max': 'max 100000' },
  });
});

test('ids in paths become the names of what has them, with either driver', () => {
  const podUid = '0b5a-11';
  const containers = [
    { id: 'c0ffee', pod: 'p', podUid, container: undefined },
    { id: 'deed', pod: 'p', podUid, container: 'main' },
  ];
  const named = (path: string) => withNames(path, containers);
  expect(named('kubepods-pod0b5a_11.slice/cri-containerd-deed.scope')).toBe(
    'kubepods-pod:p.slice/cri-containerd-main.scope',
  );
  expect(named('kubepods/pod0b5a-11/c0ffee')).toBe('kubepods/pod:p/sandbox');
});

test('trees differ in cgroups, files and values, but not in what follows from the size of the machine', () => {
  const reference = tree({ a: { 'memory.max': '100', 'pids.max': '7', 'cpu.weight': '1' }, b: {} });
  const found = tree({ a: { 'memory.max': '200', 'pids.max': '8', 'cpu.weight': '1', extra: '0' }, c: {} }, 200);
  expect(treeDifferences(reference, found).map(differenceLine)).toEqual([
    'a extra: expected missing, found "0"',
    'a pids.max: expected "7", found "8"',
    'b: expected "exists", found missing',
    'c: expected missing, found "exists"',
  ]);
});
