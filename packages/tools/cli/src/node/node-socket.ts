import { apiSocket, kubeletDir, nodeDir } from '@kubus/launcher';
import { NodeClient } from '@kubus/node-client';
import { type Command, Option } from 'commander';
import { existsSync } from 'node:fs';
import { noSuchNode } from './no-such-node.ts';
import { UserError } from '../user-error.ts';

/** `--root-dir`, for commands that use only the node's API and therefore also work with a node of `kubus kubelet`. */
export function rootDirOption(): Option {
  return new Option(
    '--root-dir <path>',
    'use the node that "kubus kubelet" runs with this --root-dir, instead of --node',
  ).env('KUBUS_ROOT_DIR');
}

/** A client of the API of the node that `--node` or `--root-dir` names. Throws a {@link UserError} when there is no such node. */
export function nodeApi(command: Command): NodeClient {
  const { node, rootDir } = command.optsWithGlobals<{ node: string; rootDir?: string }>();
  const dir = rootDir === undefined ? nodeDir(node) : kubeletDir(node, rootDir);
  if (existsSync(dir.root)) return new NodeClient(apiSocket(dir));
  if (rootDir === undefined) throw noSuchNode(node);
  throw new UserError(`no "kubus kubelet" has run with --root-dir ${rootDir} on this machine: check the path`);
}
