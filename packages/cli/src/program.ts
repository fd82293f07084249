import { KubusError, toError } from '@kubus/ports';
import { version } from '@kubus/service-kit';
import { Command, Option } from 'commander';
import { addAttach } from './commands/attach.ts';
import { addDebug } from './commands/debug.ts';
import { addDescribe } from './commands/describe.ts';
import { addDiff } from './commands/diff.ts';
import { addDown } from './commands/down.ts';
import { addEvents } from './commands/events.ts';
import { addExec } from './commands/exec.ts';
import { addExperiment } from './commands/experiment.ts';
import { addFault } from './commands/fault.ts';
import { addGet } from './commands/get.ts';
import { addGraph } from './commands/graph.ts';
import { addIdentities } from './commands/identities.ts';
import { addInside } from './commands/inside.ts';
import { addKubelet } from './commands/kubelet.ts';
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
import { defaultNode } from './node-option.ts';
import { endWithReader } from './output-stream.ts';

/** The commands with their options. Wrong usage throws commander's error, everything else the command's own. */
export function createProgram(): Command {
  const program = new Command('kubus')
    .description('Kubus: a Kubernetes node agent as cooperating processes on NATS')
    .version(version, '-V, --version')
    .addOption(new Option('--node <name>', 'the node').default(defaultNode()).env('KUBUS_NODE'))
    .configureHelp({ showGlobalOptions: true })
    .enablePositionalOptions()
    .exitOverride();
  for (const add of [
    addUp,
    addDown,
    addStatus,
    addGet,
    addDescribe,
    addEvents,
    addLogs,
    addExec,
    addAttach,
    addPortForward,
    addTop,
    addTail,
    addTrace,
    addRecord,
    addObservatory,
    addDiff,
    addReplay,
    addGraph,
    addIdentities,
    addRestart,
    addScale,
    addDebug,
    addFault,
    addExperiment,
    addReplace,
    addInside,
    addKubelet,
  ]) {
    add(program);
  }
  // The kubus script does these itself; here they are for the help.
  program.command('test').description('install what is missing and run every test (done by the kubus script)');
  program.command('bench').description('measure a node against the CRI calls alone (done by the kubus script)');
  return program;
}

/**
 * The command line program. Exit codes: 0 done, 1 failed, 2 wrong usage, 141 nobody reads its output any more; `exec` gives the
 * command's own.
 */
export async function run(argv: readonly string[]): Promise<void> {
  endWithReader();
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
  // A connection that a command left open must not keep the program alive; its output has been written.
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit();
}

function exitCodeOf(thrown: unknown): number {
  const error = toError(thrown);
  // Commander has printed its own message; its code tells help and version from wrong usage.
  if ('exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')) {
    return error.exitCode === 0 ? 0 : 2;
  }
  console.error(`kubus: ${error.message}`);
  if (!(error instanceof KubusError) && process.env['KUBUS_DEBUG'] !== undefined) console.error(error.stack);
  return 1;
}
