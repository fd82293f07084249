import { type NodeClient, RemoteCommand, apiPath, connectedQuery } from '@kubus/node-client';
import type { Command } from 'commander';
import { findPod } from '../api-pods.ts';
import { chooseContainers } from '../choose-containers.ts';
import { nodeApi, rootDirOption } from '../node-socket.ts';
import { speakWith } from '../streams/speak-with.ts';
import { UserError } from '../user-error.ts';

interface ExecOptions {
  namespace: string;
  container?: string;
  stdin?: boolean;
  tty?: boolean;
}

export function addExec(program: Command): void {
  program
    .command('exec')
    .argument('<pod>', 'the pod')
    .argument('<command...>', 'what to run, after --')
    .description('run a command in a container; its exit code is that of this program')
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .option('-c, --container <name>', 'the container, if there is more than one')
    .option('-i, --stdin', 'pass standard input on, and its end')
    .option('-t, --tty', 'in a terminal; needs -i')
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
  if (notice !== undefined) console.error(notice);
  const stdin = options.stdin === true;
  // A terminal without input is none, as with kubectl.
  const connected = { stdin, tty: stdin && options.tty === true };
  if (connected.tty && !process.stdin.isTTY) {
    console.error('Unable to use a TTY - input is not a terminal or the right kind of file');
  }
  const query = [...words.map((word): [string, string] => ['command', word]), ...connectedQuery(connected)];
  const path = apiPath(['exec', metadata.namespace, metadata.name, ...names], query);
  return speakWith(await RemoteCommand.open(client, path, connected), { raw: connected.tty });
}
