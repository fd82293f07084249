import { criCommands, runtimePod } from '@kubus/contracts';
import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node-link.ts';
import { Pods } from '../pods.ts';
import { UserError } from '../user-error.ts';
import { readStreams } from '../remote-command.ts';

interface ExecOptions {
  namespace: string;
  container?: string;
}

export function addExec(program: Command): void {
  program
    .command('exec')
    .argument('<pod>', 'the pod')
    .argument('<command...>', 'what to run, after --')
    .description('run a command in a container, without a terminal or input; its exit code is that of this program')
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .option('-c, --container <name>', 'the container, if there is more than one')
    .action(async (pod: string, words: string[], options: ExecOptions, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      process.exitCode = await exec(link, pod, words, options);
    });
}

async function exec(link: NodeLink, name: string, words: readonly string[], options: ExecOptions): Promise<number> {
  const pod = (await Pods.read(link)).find(name, options.namespace, link.bus.node);
  const container = options.container ?? pod.work.pod?.spec.containers[0]?.name ?? '';
  const runs = (await link.facts(runtimePod)).get(pod.uid)?.value.containers ?? [];
  const run = runs.find((one) => one.name === container && one.state === 'running');
  if (run === undefined) throw new UserError(`container ${container} of pod ${pod.work.ref.name} does not run`);
  const params = {
    containerId: run.id,
    cmd: [...words],
    stdin: false,
    stdout: true,
    stderr: true,
    tty: false,
  };
  const { result } = await link.bus.call(criCommands.Exec, pod.uid, { params });
  return readStreams(result.response.url ?? '');
}
