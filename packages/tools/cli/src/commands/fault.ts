import { type ActiveFault, type FaultAction, type ServiceFault, disturbService } from '@kubus/contracts';
import { describeRule, toRule } from '@kubus/experiment';
import { FaultRules } from '@kubus/faults';
import { systemClock, systemIds } from '@kubus/service-kit';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { milliseconds } from '../duration-option.ts';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { Pods } from '../pods/pods.ts';
import { formatTable } from '../output/table.ts';
import { upCommand } from '../node/no-such-node.ts';
import { UserError } from '../user-error.ts';

type Output = 'json' | 'yaml' | undefined;

interface MessageOptions {
  id?: string;
  pod?: string;
  namespace: string;
  source?: string;
  reader?: string;
  kind?: 'fact' | 'cmd' | 'event' | 'reply';
  probability?: number;
  every?: number;
  nth?: readonly number[];
  for?: number;
  output?: Output;
}

export function addFault(program: Command): void {
  const fault = program.command('fault').description('inject faults into a node that was started with up --faults');
  addRule(fault, 'drop', 'drop messages', () => ({ kind: 'drop' }));
  addRule<{ by: number; jitter?: number }>(fault, 'delay', 'delay messages, in order', ({ by, jitter }) => ({
    kind: 'delay',
    ms: by,
    ...(jitter !== undefined && { jitterMs: jitter }),
  }))
    .requiredOption('--by <duration>', 'delay, such as 500ms; milliseconds if it has no unit', milliseconds)
    .option('--jitter <duration>', 'additional random delay, up to this', milliseconds);
  addRule<{ times: number }>(fault, 'duplicate', 'deliver messages more than once', ({ times }) => ({
    kind: 'duplicate',
    times,
  })).option('--times <count>', 'number of additional deliveries', count, 1);
  addRule<{ window: number; hold?: number }>(fault, 'reorder', 'deliver messages out of order', ({ window, hold }) => ({
    kind: 'reorder',
    window,
    ...(hold !== undefined && { holdMs: hold }),
  }))
    .option('--window <count>', 'number of messages that are shuffled together', count, 2)
    .option('--hold <duration>', 'longest time a message waits for the window to fill (default: 1s)', milliseconds);
  addList(fault);
  addClear(fault);
  addServiceFault<{ for: number }>(fault, 'pause', 'pause a service (SIGSTOP) for a while', ({ for: forMs }) => ({
    what: 'pause',
    forMs,
  })).requiredOption('--for <duration>', 'duration, such as 2s', milliseconds);
  addServiceFault(fault, 'kill', 'kill a service (SIGKILL)', () => ({ what: 'kill' }));
  addServiceFault(fault, 'restart', 'restart a service (SIGTERM)', () => ({ what: 'restart' }));
}

function addRule<Own>(fault: Command, name: string, about: string, what: (options: Own) => FaultAction): Command {
  return fault
    .command(name)
    .argument('<subject>', 'subject of the messages, with wildcards, without kubus.<node>., such as runtime.fact.pod.*')
    .description(about)
    .option('--id <name>', 'name of the rule; default: a random one')
    .option('--pod <name>', 'only messages about this pod')
    .option('-n, --namespace <namespace>', 'namespace of --pod', 'default')
    .option('--source <service>', 'only messages that this service or instance publishes')
    .option('--reader <service>', 'only deliveries to this service or instance; default: to all')
    .addOption(new Option('--kind <kind>', 'only messages of this kind').choices(['fact', 'cmd', 'event', 'reply']))
    .option('--probability <p>', 'affect a message with this probability, such as 0.1', Number)
    .option('--every <n>', 'affect every n-th message', count)
    .option('--nth <n,...>', 'affect the messages with these numbers, counted from 1', counts)
    .option('--for <duration>', 'end the rule after this time, such as 10s', milliseconds)
    .addOption(outputOption())
    .action(async (subject: string, options: MessageOptions & Own, command: Command) => {
      const link = await faultyNode(command);
      const pod = options.pod === undefined ? undefined : await uidOf(link, options.pod, options.namespace);
      const id = options.id ?? `${name}-${systemIds.hex(3)}`;
      const rule = toRule(id, subject, what(options), { ...options, pod });
      const rules = await rulesOf(link);
      printFault(await rules.inject(rule), options.output);
    });
}

function printFault(fault: ActiveFault, output: Output): void {
  if (output === undefined) print(`${fault.rule.id}: ${describeRule(fault.rule)}`);
  else printKubusDocument('ActiveFault', { ends: undefined, ...fault }, output);
}

function addList(fault: Command): void {
  fault
    .command('list')
    .description('list the active rules')
    .addOption(outputOption())
    .action(async ({ output }: { output?: Output }, command: Command) => {
      const link = await faultyNode(command);
      const faults = (await rulesOf(link)).list;
      if (output !== undefined) {
        printKubusDocument('ActiveFaultList', { items: faults }, output);
        return;
      }
      const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
      const now = Date.now();
      const rows = faults.map(({ rule, since, ends }) => [
        rule.id,
        seconds(now - since),
        ends === undefined ? '-' : seconds(ends - now),
        describeRule(rule),
      ]);
      print(formatTable(['ID', 'SINCE', 'LEFT', 'WHAT'], rows));
    });
}

function addClear(fault: Command): void {
  fault
    .command('clear')
    .argument('[id]', 'name of the rule; default: all rules and pauses')
    .description('end rules and pauses')
    .addOption(outputOption())
    .action(async (id: string | undefined, { output }: { output?: Output }, command: Command) => {
      const link = await faultyNode(command);
      const cleared = await (await rulesOf(link)).clear(id);
      if (id !== undefined && cleared.length === 0)
        throw new UserError(`there is no fault "${id}" on this node: "kubus fault list" lists them`);
      if (output !== undefined) printKubusDocument('ClearedFaults', { cleared }, output);
      else print(cleared.length === 0 ? 'there was no rule to clear' : `cleared: ${cleared.join(', ')}`);
    });
}

function addServiceFault<Own>(
  fault: Command,
  name: ServiceFault['what'],
  about: string,
  what: (options: Own) => ServiceFault,
): Command {
  return fault
    .command(name)
    .argument('<service>', 'a service or instance, such as prober or prober-0')
    .description(`${about}; pods keep running`)
    .addOption(outputOption())
    .action(async (service: string, options: { output?: Output } & Own, command: Command) => {
      const link = await faultyNode(command);
      const { instances } = (await link.bus.call(disturbService, service, what(options))).result;
      if (instances.length === 0)
        throw new UserError(`no service "${service}" runs on this node: "kubus status" lists the services`);
      if (options.output !== undefined)
        printKubusDocument('DisturbedInstances', { what: name, instances }, options.output);
      else print(`${name}: ${instances.join(', ')}`);
    });
}

async function faultyNode(command: Command): Promise<NodeLink> {
  const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
  if (link.faults) return link;
  const { node } = link.bus;
  const how = upCommand(node, '--restart --faults');
  throw new UserError(`node ${node} was started without faults: "${how}" allows them; pods keep running`);
}

async function rulesOf({ bus }: NodeLink): Promise<FaultRules> {
  const rules = new FaultRules(bus, () => systemClock.now());
  await rules.whenPresent();
  return rules;
}

async function uidOf(link: NodeLink, name: string, namespace: string): Promise<string> {
  return (await Pods.read(link)).find(name, namespace, link.bus.node).uid;
}

function count(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('must be a whole number, 1 or more');
  return Number(text);
}

function counts(text: string): readonly number[] {
  return text.split(',').map(count);
}
