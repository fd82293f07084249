import { type NodeClient, RemoteCommand, apiPath, connectedQuery } from '@kubus/node-client';
import { findContainer } from '@kubus/pod-lifecycle';
import type { Command } from 'commander';
import { findPod } from '../api-pods.ts';
import { chooseContainers } from '../choose-containers.ts';
import { nodeApi, rootDirOption } from '../node-socket.ts';
import { speakWith } from '../streams/speak-with.ts';
import { UserError } from '../user-error.ts';

interface AttachOptions {
  namespace: string;
  container?: string;
  stdin?: boolean;
  tty?: boolean;
}

export function addAttach(program: Command): void {
  program
    .command('attach')
    .argument('<pod>', 'the pod')
    .description('show what a container writes from now on, until it ends; with -i pass standard input to it')
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .option('-c, --container <name>', 'the container, if there is more than one')
    .option('-i, --stdin', 'pass standard input on, where the container has one')
    .option('-t, --tty', 'show the container’s terminal, where it has one; needs -i')
    .addOption(rootDirOption())
    .action(async (pod: string, options: AttachOptions, command: Command) => {
      process.exitCode = await attach(nodeApi(command), pod, options);
    });
}

async function attach(client: NodeClient, name: string, options: AttachOptions): Promise<number> {
  const pod = await findPod(client, name, options.namespace);
  const { metadata, status } = pod;
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') {
    throw new UserError(`cannot attach a container in a completed pod; current phase is ${status.phase}`);
  }
  const { names, notice } = chooseContainers(pod, { container: options.container });
  if (notice !== undefined) console.error(notice);
  const [container = ''] = names;
  // Whether there is a terminal the container has said: what comes of it could not be read otherwise.
  const tty = findContainer(pod, container)?.container.tty === true;
  const stdin = options.stdin === true;
  const raw = tty && stdin && options.tty === true;
  if (options.tty === true && !tty) console.error(`Unable to use a TTY - container ${container} did not allocate one`);
  if (raw) console.error('If you don’t see a command prompt, try pressing enter.');
  const path = apiPath(['attach', metadata.namespace, metadata.name, container], connectedQuery({ stdin, tty }));
  return speakWith(await RemoteCommand.open(client, path, { stdin, tty }), { raw });
}
