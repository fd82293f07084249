import { isNodeName, nodeNameRule } from '@kubus/launcher/node-dir';
import { KubusError, toError } from '@kubus/ports';
import { endProcess, version } from '@kubus/service-kit';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addApiResources } from './commands/api-resources.ts';
import { addAttach } from './commands/attach.ts';
import { addBugReport } from './commands/bug-report.ts';
import { addCompletion } from './commands/completion.ts';
import { addDebug } from './commands/debug.ts';
import { addDescribe } from './commands/describe.ts';
import { addDiff } from './commands/diff.ts';
import { addDoctor } from './commands/doctor.ts';
import { addDown } from './commands/down.ts';
import { addEvents } from './commands/events.ts';
import { addExec } from './commands/exec.ts';
import { addExperiment } from './commands/experiment.ts';
import { addFault } from './commands/fault.ts';
import { addGet } from './commands/get.ts';
import { addGraph } from './commands/graph.ts';
import { addIdentities } from './commands/identities.ts';
import { addImage } from './commands/image.ts';
import { addInside } from './commands/inside.ts';
import { addKubelet } from './commands/kubelet.ts';
import { addLs } from './commands/ls.ts';
import { addLogs } from './commands/logs.ts';
import { addObservatory } from './commands/observatory.ts';
import { addPortForward } from './commands/port-forward.ts';
import { addRecord } from './commands/record.ts';
import { addReplay } from './commands/replay.ts';
import { addReplace } from './commands/replace.ts';
import { addRestart } from './commands/restart.ts';
import { addScale } from './commands/scale.ts';
import { addStatus } from './commands/status.ts';
import { addTail } from './commands/tail.ts';
import { addTop } from './commands/top.ts';
import { addTrace } from './commands/trace.ts';
import { addUp } from './commands/up.ts';
import { addVersion } from './commands/version.ts';
import { addWhy } from './commands/why.ts';
import { examples } from './help/examples.ts';
import { exitOnBrokenPipe } from './output/output-stream.ts';
import { printError } from './output/output.ts';

/** The commands as the help lists them. */
const groups: readonly (readonly [heading: string, adders: readonly ((program: Command) => void)[]])[] = [
  ['Node', [addUp, addDown, addLs, addStatus, addDoctor, addBugReport]],
  [
    'Pods',
    [addGet, addDescribe, addWhy, addEvents, addLogs, addExec, addAttach, addPortForward, addTop, addApiResources],
  ],
  ['Images', [addImage]],
  ['Look inside', [addTail, addTrace, addDiff, addRecord, addReplay, addObservatory, addGraph, addInside]],
  ['Disturb', [addFault, addExperiment]],
  ['Services', [addRestart, addScale, addDebug, addReplace, addIdentities]],
  ['Other', [addKubelet, addVersion, addCompletion]],
];

const EXIT_CODES =
  'Exit codes: 0 success, 1 failure, 2 wrong usage, 141 the reader of the output has ended; exec, attach and inside: that of the command.';

/** The commands with their options. Wrong usage throws a CommanderError; a command's own failure throws its own error. */
export function createProgram(): Command {
  const program = new Command('kubus')
    .description('Kubus: a Kubernetes node agent made of cooperating services over NATS')
    .version(version, '-V, --version')
    .addOption(nodeOption().default('node0').env('KUBUS_NODE'))
    .configureHelp({ showGlobalOptions: true })
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(helpful(text)) })
    .exitOverride();
  for (const [heading, adders] of groups) {
    program.commandsGroup(`${heading}:`);
    for (const add of adders) add(program);
  }
  acceptNodeAfter(program);
  // The kubus script runs these two itself; they are listed here for the help only.
  program.command('test').description('install missing tools and run every test (run by the kubus script)');
  program.command('bench').description('compare a node with the bare CRI calls (run by the kubus script)');
  program.addHelpText('after', `\n${EXIT_CODES}`);
  for (const command of descendants(program)) {
    const lines = examples[commandPath(command)] ?? [];
    if (lines.length > 0) command.addHelpText('after', ['', 'Examples:', ...lines.map((one) => `  ${one}`)].join('\n'));
  }
  return program;
}

/** What kubectl has and a node without an API server does otherwise. */
const OF_KUBECTL = new Set(['apply', 'create', 'run', 'delete', 'edit', 'patch']);

/** Commander's suggestion only where the first letter is right: it takes `apply` for `replay`. */
function helpful(text: string): string {
  const [, given] = /^error: unknown command '(.+)'/.exec(text) ?? [];
  if (given === undefined) return text;
  const [line, suggested] = /\n\(Did you mean (\S+?)\?\)/.exec(text) ?? [''];
  const kept = suggested?.[0] === given[0] ? text : text.replace(line, '');
  if (!OF_KUBECTL.has(given)) return kept;
  return `${kept.trimEnd()}\na node runs the pods of its folder of manifests: put files there or remove them, "kubus up --help" has --manifests\n`;
}

/** `--node`, the option of all commands. */
function nodeOption(): Option {
  return new Option('--node <name>', 'name of the node').argParser((name: string) => {
    if (!isNodeName(name)) throw new InvalidArgumentError(`${nodeNameRule}.`);
    return name;
  });
}

/** Accepts `--node` after the name of a command, too, except of `kubelet`, whose options are those of the kubelet. */
function acceptNodeAfter(program: Command): void {
  for (const command of descendants(program)) {
    if (command.name() !== 'kubelet') command.addOption(nodeOption().hideHelp());
  }
  program.hook('preAction', (_, command) => {
    for (let at: Command | null = command; at !== null && at !== program; at = at.parent) {
      const { node } = at.opts<{ node?: string }>();
      if (node === undefined) continue;
      program.setOptionValue('node', node);
      return;
    }
  });
}

/** Its name with those of the commands that it belongs to. */
function commandPath(command: Command): string {
  return command.parent?.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name();
}

function descendants({ commands }: Command): Command[] {
  return commands.flatMap((command) => [command, ...descendants(command)]);
}

/**
 * The command line program. Exit codes: 0 success, 1 failure, 2 wrong usage, 141 the reader of its output has closed the pipe; `exec`
 * and `attach` exit with the code of the command in the container.
 */
export async function run(argv: readonly string[]): Promise<void> {
  exitOnBrokenPipe();
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
  // A connection that a command left open must not keep the process alive once its output is written.
  await new Promise((resolve) => process.stdout.write('', resolve));
  await endProcess(Number(process.exitCode ?? 0));
}

function exitCodeOf(thrown: unknown): number {
  const error = toError(thrown);
  // Commander has already printed its message; exit code 0 means help or version, anything else wrong usage.
  if ('exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')) {
    return error.exitCode === 0 ? 0 : 2;
  }
  printError(`kubus: ${error.message}`);
  if (!(error instanceof KubusError) && process.env['KUBUS_DEBUG'] !== undefined) printError(error.stack ?? '');
  return 1;
}
