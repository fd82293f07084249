import { apiSocket, kubeletDir, nodeDir } from '@kubus/launcher';
import { NodeClient } from '@kubus/node-client';
import { type Command, Option } from 'commander';
import { existsSync } from 'node:fs';
import { UserError } from './user-error.ts';

/** For commands that ask the node's API alone, and so reach nodes of `kubus kubelet` too. */
export function rootDirOption(): Option {
  return new Option(
    '--root-dir <path>',
    'the node that "kubus kubelet" runs with this --root-dir, in the place of --node',
  ).env('KUBUS_ROOT_DIR');
}

/** The API of the node that the command's options name. Throws a {@link UserError} when there is no such node. */
export function nodeApi(command: Command): NodeClient {
  const { node, rootDir } = command.optsWithGlobals<{ node: string; rootDir?: string }>();
  const dir = rootDir === undefined ? nodeDir(node) : kubeletDir(node, rootDir);
  if (existsSync(dir.root)) return new NodeClient(apiSocket(dir));
  throw new UserError(
    rootDir === undefined
      ? `node ${node} does not exist on this machine: start it with ./kubus up`
      : `no node of "kubus kubelet" has the root folder ${rootDir}`,
  );
}
