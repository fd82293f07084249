import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';
import { type TestNode, poll } from '@kubus/harness';
import { readRecords } from '@kubus/launcher';
import { type NodeTest, sharedNode } from '../../src/node-tests.ts';

const onSharedNode = sharedNode('plain-node');

/** Adds a test that runs on the one node of all files here. The test must leave the node unchanged. */
export const onNode: NodeTest = (name, body) =>
  onSharedNode(name, async (node) => {
    const before = await traitsOf(node);
    await body(node);
    const isAsBefore = async () => (isDeepStrictEqual(await traitsOf(node), before) ? true : undefined);
    await poll('the node is as the test found it', isAsBefore).catch(() => undefined);
    expect(await traitsOf(node)).toEqual(before);
  });

/** The state of a node that a test could change permanently: its configuration and its processes. */
async function traitsOf(node: TestNode): Promise<unknown> {
  const processes = (await readRecords(node.dir.processes)).map(({ what }) => what).sort();
  return { config: await node.config(), processes };
}
