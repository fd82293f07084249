import { type NodeClient, RemoteCommand, apiPath, connectedQuery } from '@kubus/node-client';
import type { Command } from 'commander';
import { findPod } from '../pods/api-pods.ts';
import { chooseContainers } from '../pods/choose-containers.ts';
import { nodeApi, rootDirOption } from '../node/node-socket.ts';
import { runRemote } from '../streams/run-remote.ts';
import { UserError } from '../user-error.ts';
import { printError } from '../output/output.ts';

interface ExecOptions {
  namespace: string;
  container?: string;
  stdin?: boolean;
  tty?: boolean;
}

export function addExec(program: Command): void {
  program
    .command('exec')
    .argument('<pod>', 'name of the pod')
    .argument('<command...>', 'command to run, after --')
    .description('run a command in a container, and exit with its exit code')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option('-c, --container <name>', 'container of the pod; default: the annotated or the first one')
    .option('-i, --stdin', 'send standard input to the command')
    .option('-t, --tty', 'give the command a terminal; needs -i')
    .addOption(rootDirOption())
    .action(async (pod: string, words: string[], options: ExecOptions, command: Command) => {
      process.exitCode = await exec(nodeApi(command), pod, words, options);
    });
}

async function exec(client: NodeClient, name: string, words: readonly string[], options: ExecOptions): Promise<number> {
  const { metadata, status, ...pod } = await findPod(client, name, options.namespace);
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') {
    throw new UserError(`cannot exec into a container in a completed pod; current phase is ${status.phase}`);
  }
  const { names, notice } = chooseContainers({ metadata, ...pod }, { container: options.container });
  if (notice !== undefined) printError(notice);
  const stdin = options.stdin === true;
  // As with kubectl, -t has no effect without -i.
  const connected = { stdin, tty: stdin && options.tty === true };
  if (connected.tty && !process.stdin.isTTY) {
    printError('Unable to use a TTY - input is not a terminal or the right kind of file');
  }
  const query = [...words.map((word): [string, string] => ['command', word]), ...connectedQuery(connected)];
  const path = apiPath(['exec', metadata.namespace, metadata.name, ...names], query);
  return runRemote(await RemoteCommand.open(client, path, connected), { raw: connected.tty });
}
