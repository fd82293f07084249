import { type NodeClient, RemoteCommand, apiPath, connectedQuery } from '@kubus/node-client';
import { findContainer } from '@kubus/pod-lifecycle';
import type { Command } from 'commander';
import { findPod } from '../pods/api-pods.ts';
import { chooseContainers } from '../pods/choose-containers.ts';
import { nodeApi, rootDirOption } from '../node/node-socket.ts';
import { runRemote } from '../streams/run-remote.ts';
import { UserError } from '../user-error.ts';
import { printError } from '../output/output.ts';

interface AttachOptions {
  namespace: string;
  container?: string;
  stdin?: boolean;
  tty?: boolean;
}

export function addAttach(program: Command): void {
  program
    .command('attach')
    .argument('<pod>', 'name of the pod')
    .description('show the output of a running container; with -i also send standard input to it')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option('-c, --container <name>', 'container of the pod; default: the annotated or the first one')
    .option('-i, --stdin', 'send standard input to the container, if its spec has stdin: true')
    .option('-t, --tty', 'use the container’s terminal, if its spec has tty: true; needs -i')
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
  if (notice !== undefined) printError(notice);
  const [container = ''] = names;
  // The container's spec decides about the terminal: the stream's format depends on it.
  const tty = findContainer(pod, container)?.container.tty === true;
  const stdin = options.stdin === true;
  const raw = tty && stdin && options.tty === true;
  if (options.tty === true && !tty) printError(`Unable to use a TTY - container ${container} did not allocate one`);
  if (raw) printError('If you don’t see a command prompt, try pressing enter.');
  const path = apiPath(['attach', metadata.namespace, metadata.name, container], connectedQuery({ stdin, tty }));
  return runRemote(await RemoteCommand.open(client, path, { stdin, tty }), { raw });
}
