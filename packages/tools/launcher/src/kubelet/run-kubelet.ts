import { type KubeletSettings, helpText, kubeletVersion, parseCommandLine } from '@kubus/kubelet-config';
import { type Logger, toError } from '@kubus/ports';
import {
  type AdjustableLogger,
  DEBUG_VERBOSITY,
  collectAtRest,
  endAfter,
  endProcess,
  systemClock,
  version,
} from '@kubus/service-kit';
import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { LauncherError } from '../errors.ts';
import { compileNatives, compileSdNotify } from '../node/natives.ts';
import { kubeletDir } from './kubelet-dir.ts';
import { type LogEntry, type LogFormat, formatEntry, klogLogger, readEntry } from './klog.ts';
import { KubeletNode } from './kubelet-node.ts';
import { readPlacement } from '../node/placement.ts';
import { lockFile } from './lock-file.ts';
import { nodeName } from './node-config.ts';
import { readKubeletSettings } from './read-settings.ts';
import { type ServiceManager, notifyServiceManager, takeNotifyEnvironment } from './sd-notify.ts';

/** The source of this process's log entries. */
const source = 'kubelet';

/**
 * `kubus kubelet`: runs the node agent until SIGTERM or SIGINT, then exits with code 0; with code 1 and one log line when the node cannot be
 * started.
 *
 * @param programs the checkout
 * @param args the flags
 */
export async function runKubelet(programs: string, args: readonly string[]): Promise<void> {
  // For messages before the configuration is known.
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
    await endProcess(1);
  }
}

function print(text: string): void {
  process.stdout.write(text);
}

interface Log {
  /** Its verbosity also filters the services' entries. */
  readonly logger: AdjustableLogger;
  readonly onLine: (process: { name: string; pid: number }, line: string) => void;
}

/** Writes the log of the whole node to standard error, line by line. */
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
  const cache = join(programs, '.kubus/cache');
  const manager = notifyServiceManager(notifyEnvironment, await compileSdNotify(cache), logger);
  manager.starting();
  const natives = await compileNatives(cache);
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
        if (flags['exit-on-lock-contention']) end('another process has opened or removed the lock file');
      },
    });
  }
  await setOomScore(config.oomScoreAdj, logger);
  const placement = readPlacement(flags.placement);
  const node = new KubeletNode({ dir, settings, placement, programs, logger, onLine });
  running.push(node);
  await node.start();
  collectAtRest(natives.mallocTrim, logger);
  logger.info({ node: dir.node }, 'The node is ready');
  manager.ready();
  manager.watch(() => node.isHealthy());
}

/** A function that stops everything, once, and then exits. */
function ender(running: readonly KubeletNode[], manager: ServiceManager, logger: Logger): (why: string) => void {
  let ending = false;
  return (why) => {
    if (ending) return;
    ending = true;
    logger.info({ why }, 'Stopping; pods keep running');
    manager.stopping();
    const stopping = Promise.all(running.map((node) => node.stop()));
    void endAfter(stopping, (error) => logger.error({ err: toError(error) }, 'Failed to stop the node cleanly'));
  };
}

/** Sets oom_score_adj of this process, which the services inherit; containers are children of the runtime and do not. */
async function setOomScore(score: number, logger: Logger): Promise<void> {
  try {
    await writeFile('/proc/self/oom_score_adj', String(score));
  } catch (error) {
    logger.warn({ oomScoreAdj: score, err: toError(error) }, 'Failed to apply oomScoreAdj');
  }
}
