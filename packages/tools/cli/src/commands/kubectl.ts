import { adminKubeconfig, nodeDir } from '@kubus/launcher';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { hasErrno, toError } from '@kubus/ports';
import { forwardSignals } from '../node/run-instead.ts';
import { print, printError } from '../output/output.ts';
import { noSuchNode, upCommand } from '../node/no-such-node.ts';
import { UserError } from '../user-error.ts';

const GET_ONE =
  'this machine has no kubectl: install the package kubernetes-client (Debian) or the program of https://kubernetes.io/docs/tasks/tools';

const NEEDS_CLUSTER =
  'kubus: the API of a private node has no controllers: Deployments, Jobs, DaemonSets and others need a cluster, see docs/tasks/join-a-cluster.md';
/** What kubectl says of a kind that the server does not have. */
const NO_SUCH_KIND = /doesn't have a resource type|no matches for kind|could not find the requested resource/;
/** Commands that may need the terminal for themselves. */
const INTERACTIVE = ['attach', 'debug', 'edit', 'exec', 'run'];
/** How much of what kubectl says last is looked at, in characters. */
const LAST_WORDS = 4096;

export function addKubeconfig(program: Command): void {
  program
    .command('kubeconfig')
    .description('print the path of the kubeconfig of a node that has a Kubernetes API')
    .action((_options: object, command: Command) => {
      print(kubeconfigOf(command.optsWithGlobals<{ node: string }>().node));
    });
}

export function addKubectl(program: Command): void {
  program
    .command('kubectl')
    .argument('[args...]', 'what kubectl is given')
    .passThroughOptions()
    .allowUnknownOption()
    .description('run the machine’s kubectl with the Kubernetes API of a node')
    .action(async (args: string[], _options: object, command: Command) => {
      await kubectl(kubeconfigOf(command.optsWithGlobals<{ node: string }>().node), args);
    });
}

/** @throws UserError when the node has none. */
function kubeconfigOf(node: string): string {
  const dir = nodeDir(node);
  if (!existsSync(dir.root)) throw noSuchNode(node);
  const path = adminKubeconfig(dir);
  if (!existsSync(path)) {
    throw new UserError(
      `node ${node} has no Kubernetes API: remove it with "kubus down", and start it with ${upCommand(node)}`,
    );
  }
  return path;
}

async function kubectl(kubeconfig: string, args: readonly string[]): Promise<void> {
  const isHeard = !args.some((argument) => INTERACTIVE.includes(argument));
  const child = spawn('kubectl', args, {
    stdio: ['inherit', 'inherit', isHeard ? 'pipe' : 'inherit'],
    env: { ...process.env, KUBECONFIG: kubeconfig },
  });
  forwardSignals(child);
  let said = '';
  child.stderr?.on('data', (part: Buffer) => {
    process.stderr.write(part);
    said = `${said}${part.toString()}`.slice(-LAST_WORDS);
  });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    process.exitCode = code ?? 1;
    if (code !== 0 && NO_SUCH_KIND.test(said)) printError(NEEDS_CLUSTER);
  } catch (error) {
    throw hasErrno(error, 'ENOENT') ? new UserError(GET_ONE, { cause: error }) : toError(error);
  }
}
