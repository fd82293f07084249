import { type KubeletSettings, helpText, kubeletVersion, parseCommandLine } from '@kubus/kubelet-config';
import { type Logger, toError } from '@kubus/ports';
import { type AdjustableLogger, DEBUG_VERBOSITY, systemClock, version } from '@kubus/service-kit';
import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { LauncherError } from '../errors.ts';
import { compileNatives } from '../natives.ts';
import { kubeletDir } from './kubelet-dir.ts';
import { type LogEntry, type LogFormat, formatEntry, klogLogger, readEntry } from './klog.ts';
import { KubeletNode } from './kubelet-node.ts';
import { lockFile } from './lock-file.ts';
import { nodeName } from './node-config.ts';
import { readKubeletSettings } from './read-settings.ts';
import { type ServiceManager, notifyServiceManager, takeNotifyEnvironment } from './sd-notify.ts';

/** As what this process speaks in the log. */
const source = 'kubelet';

/**
 * `kubus kubelet`: runs the node agent until SIGTERM or SIGINT, and ends this process: with 0 then, and with 1 and one
 * line in the log when the node can not be started.
 *
 * @param programs the checkout
 * @param args the flags
 */
export async function runKubelet(programs: string, args: readonly string[]): Promise<void> {
  // What is said before the configuration is known.
  let log = makeLog('text', 0);
  try {
    const commandLine = parseCommandLine(args);
    if (commandLine.flags.get('help') === true) {
      print(helpText());
      return;
    }
    const asked = commandLine.flags.get('version') ?? 'false';
    if (asked !== 'false') {
      print(`Kubernetes ${kubeletVersion(version)}\n`);
      return;
    }
    const settings = await readKubeletSettings(commandLine);
    const { format, verbosity } = settings.config.logging;
    log = makeLog(format === 'json' ? 'json' : 'text', verbosity);
    await runNode(programs, settings, log);
  } catch (error) {
    log.logger.error({ err: toError(error) }, 'command failed');
    process.exit(1);
  }
}

function print(text: string): void {
  process.stdout.write(text);
}

interface Log {
  /** How much it says is how much is shown of what the services say. */
  readonly logger: AdjustableLogger;
  readonly onLine: (process: { name: string; pid: number }, line: string) => void;
}

/** Everything that the node says goes to standard error, line by line. */
function makeLog(format: LogFormat, configured: number): Log {
  let shown = configured;
  const verbosity = () => shown;
  const { pid } = process;
  const now = () => systemClock.now();
  const write = (entry: LogEntry) => {
    if (entry.severity !== 'debug' || verbosity() >= DEBUG_VERBOSITY)
      process.stderr.write(`${formatEntry(entry, format)}\n`);
  };
  return {
    logger: {
      ...klogLogger({ source, pid, now, verbosity, write }),
      setVerbosity: (asked) => (shown = asked ?? configured),
    },
    onLine: (from, line) => write(readEntry(line, from, now())),
  };
}

async function runNode(programs: string, settings: KubeletSettings, { logger, onLine }: Log): Promise<void> {
  const { flags, config } = settings;
  logger.info({ kubeletVersion: kubeletVersion(version) }, 'Kubelet version');
  for (const { setting, value, text } of settings.notes) {
    logger.warn({ setting, ...(value !== '' && { value }) }, `${setting} ${text}`);
  }
  const notifyEnvironment = takeNotifyEnvironment(process.env, process.pid);
  const natives = await compileNatives(join(programs, '.kubus/cache'));
  const manager = notifyServiceManager(notifyEnvironment, natives.sdNotify, logger);
  const kubeletRoot = resolve(flags['root-dir']);
  const dir = kubeletDir(nodeName(flags, hostname()), kubeletRoot);
  const running: KubeletNode[] = [];
  const end = ender(running, manager, logger);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => end(signal));
  if (flags['exit-on-lock-contention'] && flags['lock-file'] === '') {
    throw new LauncherError('NoLockFile', 'cannot exit on lock file contention: no lock file specified');
  }
  if (flags['lock-file'] !== '') {
    logger.info({ path: flags['lock-file'] }, 'Acquiring file lock');
    await lockFile({
      path: flags['lock-file'],
      program: natives.holdLock,
      onContention: () => {
        if (flags['exit-on-lock-contention']) end('somebody else wants the lock file');
      },
    });
  }
  await setOomScore(config.oomScoreAdj, logger);
  const node = new KubeletNode({ dir, settings, programs, logger, onLine });
  running.push(node);
  await node.start();
  logger.info({ node: dir.node }, 'The node is up');
  manager.ready();
  manager.watch(() => node.isWell);
}

/** Ends everything once, and then this process. */
function ender(running: readonly KubeletNode[], manager: ServiceManager, logger: Logger): (why: string) => void {
  let ending = false;
  return (why) => {
    if (ending) return;
    ending = true;
    logger.info({ why }, 'Ending; pods go on running');
    manager.stopping();
    Promise.all(running.map((node) => node.stop())).then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: toError(error) }, 'the node did not end cleanly');
        process.exit(1);
      },
    );
  };
}

/** How readily the kernel ends this process and the services when memory is short; containers are the runtime's children. */
async function setOomScore(score: number, logger: Logger): Promise<void> {
  try {
    await writeFile('/proc/self/oom_score_adj', String(score));
  } catch (error) {
    logger.warn({ oomScoreAdj: score, err: toError(error) }, 'Failed to apply oomScoreAdj');
  }
}
