import { isNodeName, nodeNameRule } from '@kubus/launcher/node-dir';
import { KubusError, toError } from '@kubus/ports';
import { endProcess, version } from '@kubus/service-kit';
import { Command, InvalidArgumentError, Option } from 'commander';
import { examples } from './help/examples.ts';
import { commandOf } from './node/enter-namespace.ts';
import { withoutDocument } from './output/documents.ts';
import { exitOnBrokenPipe } from './output/output-stream.ts';
import { printError } from './output/output.ts';

type Adder = (program: Command) => void;

/** The commands as the help lists them, each with its module, which is loaded only for itself and for the help. */
const groups: readonly (readonly [heading: string, commands: Readonly<Record<string, () => Promise<Adder>>>])[] = [
  [
    'Node',
    {
      up: async () => (await import('./commands/up.ts')).addUp,
      down: async () => (await import('./commands/down.ts')).addDown,
      ls: async () => (await import('./commands/ls.ts')).addLs,
      status: async () => (await import('./commands/status.ts')).addStatus,
      pressure: async () => (await import('./commands/pressure.ts')).addPressure,
      doctor: async () => (await import('./commands/doctor.ts')).addDoctor,
      'bug-report': async () => (await import('./commands/bug-report.ts')).addBugReport,
    },
  ],
  [
    'Pods',
    {
      get: async () => (await import('./commands/get.ts')).addGet,
      describe: async () => (await import('./commands/describe.ts')).addDescribe,
      why: async () => (await import('./commands/why.ts')).addWhy,
      events: async () => (await import('./commands/events.ts')).addEvents,
      logs: async () => (await import('./commands/logs.ts')).addLogs,
      exec: async () => (await import('./commands/exec.ts')).addExec,
      attach: async () => (await import('./commands/attach.ts')).addAttach,
      'port-forward': async () => (await import('./commands/port-forward.ts')).addPortForward,
      top: async () => (await import('./commands/top.ts')).addTop,
      'api-resources': async () => (await import('./commands/api-resources.ts')).addApiResources,
    },
  ],
  [
    'Kubernetes API',
    {
      kubectl: async () => (await import('./commands/kubectl.ts')).addKubectl,
      kubeconfig: async () => (await import('./commands/kubectl.ts')).addKubeconfig,
    },
  ],
  [
    'Images',
    {
      image: async () => (await import('./commands/image.ts')).addImage,
    },
  ],
  [
    'Look inside',
    {
      tail: async () => (await import('./commands/tail.ts')).addTail,
      trace: async () => (await import('./commands/trace.ts')).addTrace,
      diff: async () => (await import('./commands/diff.ts')).addDiff,
      record: async () => (await import('./commands/record.ts')).addRecord,
      replay: async () => (await import('./commands/replay.ts')).addReplay,
      observatory: async () => (await import('./commands/observatory.ts')).addObservatory,
      graph: async () => (await import('./commands/graph.ts')).addGraph,
      inside: async () => (await import('./commands/inside.ts')).addInside,
      topology: async () => (await import('./commands/topology.ts')).addTopology,
    },
  ],
  [
    'Disturb',
    {
      fault: async () => (await import('./commands/fault.ts')).addFault,
      experiment: async () => (await import('./commands/experiment.ts')).addExperiment,
    },
  ],
  [
    'Services',
    {
      restart: async () => (await import('./commands/restart.ts')).addRestart,
      scale: async () => (await import('./commands/scale.ts')).addScale,
      debug: async () => (await import('./commands/debug.ts')).addDebug,
      replace: async () => (await import('./commands/replace.ts')).addReplace,
      identities: async () => (await import('./commands/identities.ts')).addIdentities,
    },
  ],
  [
    'Other',
    {
      kubelet: async () => (await import('./commands/kubelet.ts')).addKubelet,
      version: async () => (await import('./commands/version.ts')).addVersion,
      completion: async () => (await import('./commands/completion.ts')).addCompletion,
    },
  ],
];

const EXIT_CODES =
  'Exit codes: 0 success, 1 failure, 2 wrong usage, 141 the reader of the output has ended; exec, attach and inside: that of the command.';

/**
 * The commands with their options. Wrong usage throws a CommanderError; a command's own failure throws its own error.
 *
 * @param only the one command that is needed. Default, and for any other word: all.
 */
export async function createProgram(only?: string): Promise<Command> {
  const program = new Command('kubus')
    .description('Kubus: a Kubernetes node agent made of cooperating services over NATS')
    .version(version, '-V, --version')
    .addOption(nodeOption().default('node0').env('KUBUS_NODE'))
    .configureHelp({ showGlobalOptions: true })
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(helpful(text)) })
    .exitOverride();
  for (const [heading, commands] of await adders(only)) {
    program.commandsGroup(`${heading}:`);
    for (const add of commands) add(program);
  }
  acceptNodeAfter(program);
  // The kubus script runs these two itself; they are listed here for the help only.
  program.command('test').description('install missing tools and run every test (run by the kubus script)');
  program.command('bench').description('compare a node with the bare CRI calls (run by the kubus script)');
  program.addHelpText('after', `\n${EXIT_CODES}`);
  for (const command of descendants(program)) {
    const lines = examples[commandPath(command)] ?? [];
    const reason = withoutDocument[commandPath(command)];
    if (reason !== undefined) command.configureOutput({ outputError: explainsMissing(reason) });
    if (lines.length > 0) command.addHelpText('after', ['', 'Examples:', ...lines.map((one) => `  ${one}`)].join('\n'));
  }
  return program;
}

/** `completion` is not among those that are enough: the hidden command that comes with it completes all others. */
async function adders(only: string | undefined): Promise<(readonly [heading: string, commands: readonly Adder[]])[]> {
  const isEnough = only !== undefined && groups.some(([, commands]) => Object.hasOwn(commands, only));
  return Promise.all(
    groups.map(async ([heading, commands]) => {
      const needed = Object.entries(commands).filter(([name]) => !isEnough || name === only);
      return [heading, await Promise.all(needed.map(([, load]) => load()))] as const;
    }),
  );
}

/** The words for the types of `kubus get` that are no commands; their own modules would be loaded for every command. */
const TYPES = new Set(['pods', 'pod', 'po', 'nodes', 'node', 'no', 'event', 'ev', 'manifests', 'manifest']);

/** What kubectl has and a node without an API server does otherwise. */
const OF_KUBECTL = new Set(['apply', 'create', 'run', 'delete', 'edit', 'patch']);

/** Commander's suggestion only where the first letter is right: it takes `apply` for `replay`. */
function helpful(text: string): string {
  const [, given] = /^error: unknown command '(.+)'/.exec(text) ?? [];
  if (given === undefined) return text;
  const [line, suggested] = /\n\(Did you mean (\S+?)\?\)/.exec(text) ?? [''];
  const kept = suggested?.[0] === given[0] ? text : text.replace(line, '');
  if (TYPES.has(given)) return `error: unknown command '${given}'\nit is "kubus get ${given}"\n`;
  if (!OF_KUBECTL.has(given))
    return kept.includes('Did you mean') ? kept : `${kept.trimEnd()}\n"kubus --help" lists the commands\n`;
  return `${kept.trimEnd()}\na node runs the pods of its folder of manifests: put files there or remove them, "kubus up --help" has --manifests; with the node's API it is "kubus kubectl ${given}"\n`;
}

/** Says why a command has no `--output`, where that is what it was given. */
function explainsMissing(reason: string): (text: string, write: (text: string) => void) => void {
  return (text, write) => {
    const isOutput = /^error: unknown option '(-o|--output)/.test(text);
    write(isOutput ? `error: there is no --output here: ${reason}\n` : helpful(text));
  };
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
    const program = await createProgram(commandOf(argv.slice(2)));
    await program.parseAsync(argv);
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
