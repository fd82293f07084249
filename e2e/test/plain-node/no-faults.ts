import { expect } from '@jest/globals';
import { onNode } from './node.ts';

onNode('a node that was started without faults refuses them', async (node) => {
  for (const args of [['drop', '>'], ['list'], ['clear'], ['kill', 'prober'], ['pause', 'prober', '--for', '1s']]) {
    const { code, stderr } = await node.kubus('fault', ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining('up --restart --faults" allows them')]);
  }
});
