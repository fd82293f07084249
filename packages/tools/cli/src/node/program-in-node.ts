import { type NodeDir, inNetworkNamespace } from '@kubus/launcher';

/** The command line that runs this program with other arguments in the node's network namespace. */
export function programInNode(dir: NodeDir, args: readonly string[]): [string, ...string[]] {
  const [program, ...rest] = inNetworkNamespace(dir.networkNamespace, [
    process.execPath,
    ...process.execArgv,
    process.argv[1] ?? '',
    '--node',
    dir.node,
    ...args,
  ]);
  return [program, ...rest];
}
