import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type NodeOptions, type TestNode, poll, startNode } from '@kubus/harness';
import { recordFailure } from './failure-record.ts';
import { leftoversOfPods } from './leftovers.ts';

/** Adds a test that runs on the file's node. */
export type NodeTest = (name: string, body: (node: TestNode) => Promise<void>) => void;

/**
 * Starts one node for all tests of a file, and takes it down after them: it must leave nothing behind. After each test its
 * manifests are removed, and the test fails when anything is left of their pods. A failure names the folder that has the
 * node's messages and logs.
 */
export function sharedNode(file: string, options: NodeOptions = {}): NodeTest {
  let node: TestNode | undefined;
  beforeAll(async () => {
    node = await startNode(options);
  });
  afterAll(() => node?.stop());
  return (name, body) => {
    test(name, async () => {
      if (node === undefined) throw new Error('the node did not start');
      try {
        await body(node);
        await node.clearManifests();
        await node.watch.until('no pods', () => (node?.watch.pods.length === 0 ? true : undefined));
        expect(await lastLeftovers(node)).toEqual([]);
      } catch (error) {
        const folder = await recordFailure(node, `${file}-${name.replaceAll(/[^a-z0-9]+/gi, '-')}`, String(error));
        await node.clearManifests();
        throw new Error(`the messages and logs of the node are in ${folder}`, { cause: error });
      }
    });
  };
}

/** What stays: a network that could not be removed at first is removed by a later attempt. */
async function lastLeftovers(node: TestNode): Promise<string[]> {
  let left: string[] = [];
  const isEmpty = async () => ((left = await leftoversOfPods(node)).length === 0 ? true : undefined);
  await poll('nothing is left of the pods', isEmpty).catch(() => undefined);
  return left;
}
