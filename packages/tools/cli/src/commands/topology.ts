import type { TopologyView } from '@kubus/causality';
import { parseQuantity, quantityUnits } from '@kubus/contracts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import type { PodRecord } from '../pods/pod-record.ts';
import type { PodTrial, Trial } from '../topology/trial.ts';
import { UserError } from '../user-error.ts';

type Format = 'json' | 'yaml';

interface TryOptions {
  readonly cpus?: number;
  readonly memory?: number;
  readonly pod?: string;
  readonly memoryPolicy: 'None' | 'Static';
  readonly machine?: string;
  readonly numaPolicy: string;
  readonly numaScope: string;
  readonly cpuOption: readonly string[];
  readonly reservedCpus?: string;
  readonly output?: Format;
}

interface ShowOptions {
  readonly recording?: string;
  readonly at?: string;
  readonly output?: Format;
}

interface WhyOptions {
  readonly namespace: string;
  readonly recording?: string;
  readonly output?: Format;
}

export function addTopology(program: Command): void {
  const topology = program
    .command('topology')
    .description('CPUs, NUMA nodes and devices: who has them, why a pod was refused, what a kubelet would allocate');
  topology
    .command('show', { isDefault: true })
    .description(
      'show the machine of the node: sockets, NUMA nodes, caches, huge pages, CPUs and devices, and who has them',
    )
    .option('--recording <file>', 'read an exported recording instead of the node')
    .option('--at <time>', 'a moment of the recording: a time, or +SECONDS since it began; default: its end')
    .addOption(outputOption())
    .action(async (options: ShowOptions, command: Command) => {
      const { machine, policies, reserved, shared, memory, containers, devices, claims } = await viewOf(
        options,
        command,
      );
      const view = { machine, policies, reserved, shared, memory, containers, devices, claims };
      if (options.output !== undefined) {
        printKubusDocument('NodeTopology', view, options.output);
        return;
      }
      const { topologyText } = await import('../topology/topology-text.ts');
      print(topologyText(view));
    });
  topology
    .command('machine')
    .description('describe this machine, for "kubus topology try --machine"')
    .addOption(outputOption().default('yaml'))
    .action(async ({ output }: { output: Format }) => {
      const { thisMachine } = await import('../topology/machine-file.ts');
      const { sockets, nodes, cores = [], caches = [] } = await thisMachine();
      printKubusDocument('Machine', { sockets, nodes, cores, caches }, output);
    });
  topology
    .command('try')
    .description(
      'answer which CPUs a pod would get on an empty machine, and memory of which nodes: one of a manifest, or a Guaranteed one of one container',
    )
    .addOption(new Option('--cpus <count>', 'CPUs that the container requests').argParser(wholeNumber))
    .addOption(
      new Option('--memory <quantity>', 'memory that it requests; the node manages memory, too').argParser(bytes),
    )
    .addOption(
      new Option('--pod <file>', 'manifest of a pod, JSON or YAML, in place of --cpus').conflicts(['cpus', 'memory']),
    )
    .addOption(
      new Option('--memory-policy <policy>', 'memoryManagerPolicy, with --pod')
        .choices(['None', 'Static'])
        .default('Static')
        .conflicts('cpus'),
    )
    .addOption(new Option('--machine <file>', 'description of the machine, JSON or YAML; default: this machine'))
    .addOption(
      new Option('--numa-policy <policy>', 'topologyManagerPolicy')
        .choices(['none', 'best-effort', 'restricted', 'single-numa-node'])
        .default('none'),
    )
    .addOption(
      new Option('--numa-scope <scope>', 'topologyManagerScope').choices(['container', 'pod']).default('container'),
    )
    .addOption(new Option('--cpu-option <name...>', 'options of the CPU manager that are true').default([]))
    .addOption(
      new Option('--reserved-cpus <list>', 'reservedSystemCPUs; default: one CPU, as the CPU manager chooses it'),
    )
    .addOption(outputOption())
    .action(async (options: TryOptions) => {
      const { machine: file, cpus, memory, pod: path, memoryPolicy } = options;
      const { numaPolicy, numaScope, cpuOption: cpuOptions, reservedCpus, output } = options;
      const settings = { numaPolicy, numaScope, cpuOptions, reservedCpus };
      const { readMachineFile } = await import('../topology/machine-file.ts');
      const { allocationTrial, podTrial } = await import('../topology/trial.ts');
      const { podTrialText, trialText } = await import('../topology/trial-text.ts');
      const answer = ({ qosClass, pod, containers, ...trial }: Trial & Partial<PodTrial>, text: string) => {
        if (output === undefined) print(text);
        else printKubusDocument('AllocationTrial', { ...trial, qosClass, pod, containers }, output);
        if (!trial.admitted) process.exitCode = 1;
      };
      if (path !== undefined) {
        const { readPodFile } = await import('../topology/pod-file.ts');
        const pod = await readPodFile(path);
        const trial = podTrial(await readMachineFile(file), pod, { ...settings, memory: memoryPolicy === 'Static' });
        answer(trial, podTrialText(trial));
        return;
      }
      if (cpus === undefined) throw new UserError('what is tried? --cpus COUNT or --pod FILE');
      const trial = allocationTrial(await readMachineFile(file), { ...settings, cpus, memory });
      answer(trial, trialText(trial));
    });
  topology
    .command('why')
    .argument('<pod>', 'name or UID of the pod, also of one that is removed')
    .description(
      'explain why a pod got no devices, CPUs or memory: the hints of each provider, and how they were merged',
    )
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option('--recording <file>', 'read an exported recording instead of the node')
    .addOption(outputOption())
    .action(async (name: string, options: WhyOptions, command: Command) => {
      const { uid, messages } = await recordOf(name, options, command);
      const { topologyRefusalIn } = await import('@kubus/causality');
      const refusal = topologyRefusalIn(messages);
      if (refusal === undefined)
        throw new UserError(`pod ${name} was not refused devices, CPUs or memory of its own: see ./kubus why ${name}`);
      if (options.output !== undefined) {
        printKubusDocument('AllocationRefusal', { uid, ...refusal }, options.output);
        return;
      }
      const { refusalText } = await import('../topology/refusal-text.ts');
      print(refusalText(refusal));
    });
}

async function viewOf({ recording, at }: ShowOptions, command: Command): Promise<TopologyView> {
  const { liveTopology, momentOf, recordedTopology } = await import('../topology/topology-facts.ts');
  if (recording !== undefined) {
    const { withRecording } = await import('../pods/recording-file.ts');
    return withRecording(recording, (reader) =>
      recordedTopology(reader, at === undefined ? undefined : momentOf(at, reader.meta.began)),
    );
  }
  if (at !== undefined) throw new UserError('--at needs --recording');
  const { connectNode } = await import('../node/node-link.ts');
  return liveTopology(await connectNode(command.optsWithGlobals<{ node: string }>().node));
}

async function recordOf(name: string, { namespace, recording }: WhyOptions, command: Command): Promise<PodRecord> {
  const { readPodRecord, readRecordedPod } = await import('../pods/pod-record.ts');
  if (recording !== undefined) {
    const { withRecording } = await import('../pods/recording-file.ts');
    return withRecording(recording, (reader) => readRecordedPod(reader, name, namespace));
  }
  const { connectNode } = await import('../node/node-link.ts');
  const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
  return readPodRecord(link, name, namespace);
}

function wholeNumber(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('must be a whole number');
}

function bytes(text: string): number {
  const quantity = parseQuantity(text);
  const units = quantity === undefined ? 0 : Number(quantityUnits(quantity));
  if (units > 0 && Number.isSafeInteger(units)) return units;
  throw new InvalidArgumentError('must be a quantity such as 1Gi');
}
