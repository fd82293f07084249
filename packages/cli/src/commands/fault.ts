import { type ActiveFault, type FaultAction, type ServiceFault, disturbService } from '@kubus/contracts';
import { describeRule, toRule } from '@kubus/experiment';
import { FaultRules } from '@kubus/faults';
import { parseGoDuration } from '@kubus/kubelet-config';
import { systemClock, systemIds } from '@kubus/service-kit';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type NodeLink, connectNode } from '../node-link.ts';
import { outputOption, printDocument } from '../output.ts';
import { Pods } from '../pods.ts';
import { formatTable } from '../table.ts';
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
  const fault = program
    .command('fault')
    .description('disturb the messages and the services of a node on purpose; it is to be started with up --faults');
  addRule(fault, 'drop', 'lose messages', () => ({ kind: 'drop' }));
  addRule<{ by: number; jitter?: number }>(
    fault,
    'delay',
    'hold messages back, their order kept',
    ({ by, jitter }) => ({
      kind: 'delay',
      ms: by,
      ...(jitter !== undefined && { jitterMs: jitter }),
    }),
  )
    .requiredOption('--by <duration>', 'for how long, such as 500ms; milliseconds without a unit', milliseconds)
    .option('--jitter <duration>', 'up to so much more, at random', milliseconds);
  addRule<{ times: number }>(fault, 'duplicate', 'deliver messages more than once', ({ times }) => ({
    kind: 'duplicate',
    times,
  })).option('--times <count>', 'how many times more', count, 1);
  addRule<{ window: number; hold?: number }>(
    fault,
    'reorder',
    'let messages overtake each other',
    ({ window, hold }) => ({
      kind: 'reorder',
      window,
      ...(hold !== undefined && { holdMs: hold }),
    }),
  )
    .option('--window <count>', 'how many wait for each other', count, 2)
    .option('--hold <duration>', 'how long they wait at most (1s)', milliseconds);
  addList(fault);
  addClear(fault);
  addServiceFault<{ for: number }>(fault, 'pause', 'let a service stand still for a while', ({ for: forMs }) => ({
    what: 'pause',
    forMs,
  })).requiredOption('--for <duration>', 'for how long, such as 2s', milliseconds);
  addServiceFault(fault, 'kill', 'end a service without a chance to say anything', () => ({ what: 'kill' }));
  addServiceFault(fault, 'restart', 'end a service in order', () => ({ what: 'restart' }));
}

function addRule<Own>(fault: Command, name: string, about: string, what: (options: Own) => FaultAction): Command {
  return fault
    .command(name)
    .argument('<subject>', 'whose messages: a pattern below kubus.<node>., such as runtime.fact.pod.*')
    .description(about)
    .option('--id <name>', 'the name of the rule')
    .option('--pod <name>', 'only those about the pod')
    .option('-n, --namespace <namespace>', 'its namespace', 'default')
    .option('--source <service>', 'only those that the service, or the instance, publishes')
    .option('--reader <service>', 'only where the service, or the instance, hears them; else for everybody')
    .addOption(new Option('--kind <kind>', 'only those of the kind').choices(['fact', 'cmd', 'event', 'reply']))
    .option('--probability <p>', 'only with that probability, such as 0.1', Number)
    .option('--every <n>', 'only every n-th', count)
    .option('--nth <n,...>', 'only these, counted from 1', counts)
    .option('--for <duration>', 'only for so long, such as 10s', milliseconds)
    .addOption(outputOption())
    .action(async (subject: string, options: MessageOptions & Own, command: Command) => {
      const link = await faultyNode(command);
      const pod = options.pod === undefined ? undefined : await uidOf(link, options.pod, options.namespace);
      const id = options.id ?? `${name}-${systemIds.hex(3)}`;
      const rule = toRule(id, subject, what(options), { ...options, pod });
      const rules = await rulesOf(link);
      print(await rules.inject(rule), options.output);
    });
}

function print(fault: ActiveFault, output: Output): void {
  if (output === undefined) console.log(`${fault.rule.id}: ${describeRule(fault.rule)}`);
  else printDocument(fault, output);
}

function addList(fault: Command): void {
  fault
    .command('list')
    .description('what is done to messages now')
    .addOption(outputOption())
    .action(async ({ output }: { output?: Output }, command: Command) => {
      const link = await faultyNode(command);
      const faults = (await rulesOf(link)).list;
      if (output !== undefined) {
        printDocument(faults, output);
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
      console.log(formatTable(['ID', 'SINCE', 'LEFT', 'WHAT'], rows));
    });
}

function addClear(fault: Command): void {
  fault
    .command('clear')
    .argument('[id]', 'the name of a rule; all rules and pauses without it')
    .description('end what was begun')
    .addOption(outputOption())
    .action(async (id: string | undefined, { output }: { output?: Output }, command: Command) => {
      const link = await faultyNode(command);
      const cleared = await (await rulesOf(link)).clear(id);
      if (id !== undefined && cleared.length === 0) throw new UserError(`there is no fault "${id}" on this node`);
      if (output !== undefined) printDocument({ cleared }, output);
      else console.log(cleared.length === 0 ? 'no rule was there' : `cleared: ${cleared.join(', ')}`);
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
    .argument('<service>', 'a service, or one of its instances')
    .description(`${about}; pods go on`)
    .addOption(outputOption())
    .action(async (service: string, options: { output?: Output } & Own, command: Command) => {
      const link = await faultyNode(command);
      const { instances } = (await link.bus.call(disturbService, service, what(options))).result;
      if (instances.length === 0) throw new UserError(`no service "${service}" runs on this node`);
      if (options.output !== undefined) printDocument({ what: name, instances }, options.output);
      else console.log(`${name}: ${instances.join(', ')}`);
    });
}

async function faultyNode(command: Command): Promise<NodeLink> {
  const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
  if (link.faults) return link;
  throw new UserError(`node ${link.bus.node} was started without faults: start it with ./kubus up --faults`);
}

async function rulesOf({ bus }: NodeLink): Promise<FaultRules> {
  const rules = new FaultRules(bus, () => systemClock.now());
  await rules.whenPresent();
  return rules;
}

async function uidOf(link: NodeLink, name: string, namespace: string): Promise<string> {
  return (await Pods.read(link)).find(name, namespace, link.bus.node).uid;
}

function milliseconds(text: string): number {
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) : parseGoDuration(text);
  if (ms === undefined || ms < 0) throw new InvalidArgumentError('a duration like 500ms, 2s or 1m30s is needed');
  return ms;
}

function count(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('a whole number from 1 on is needed');
  return Number(text);
}

function counts(text: string): readonly number[] {
  return text.split(',').map(count);
}
