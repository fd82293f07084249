import { afterAll, beforeAll } from '@jest/globals';
import { ApiSource, type NodeOptions, ObjectCache, type TestNode, startNode } from '@kubus/harness';

/** A node whose pods and objects are published by the test in place of an API server's. */
export interface ApiNode {
  node: TestNode;
  api: ApiSource;
  /** Pods of an API server do not start before the Services of their namespace are known. */
  objects: ObjectCache;
}

/**
 * Starts one such node for all tests of a file, and takes it down after them.
 *
 * @param onStart called with the node once it runs, before the first test.
 */
export function sharedApiNode(
  onStart: (parts: ApiNode) => Promise<void> | void,
  options: Pick<NodeOptions, 'prepare' | 'up'> = {},
): void {
  let parts: ApiNode | undefined;
  beforeAll(async () => {
    const node = await startNode({ ...options, elsewhere: ['config-sources'] });
    parts = { node, api: await ApiSource.open(node), objects: await ObjectCache.open(node) };
    await onStart(parts);
  });
  afterAll(async () => {
    await parts?.objects.close();
    await parts?.api.close();
    await parts?.node.stop();
  });
}
