import { runElsewhere, serviceOfInstance } from '@kubus/contracts';
import { everyService, recordOf, writeRecord } from '@kubus/launcher';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { NodeLink } from './node-link.ts';
import { UserError } from '../user-error.ts';
import { printError } from '../output/output.ts';

/**
 * Runs a program instead of a bundled service until the program ends, then starts the bundled service again. Must be called in the
 * node's network namespace. The program's environment needs the node's mark (`nodeMark`), so that `kubus down` ends it too.
 *
 * @param start called when the bundled service has ended.
 * @returns the program's exit code; undefined when it was ended by a signal.
 * @throws UserError when no such service runs.
 */
export async function runInsteadOf(
  link: NodeLink,
  instance: string,
  start: () => ChildProcess,
): Promise<number | undefined> {
  const { instances } = (await link.bus.call(runElsewhere, instance, { elsewhere: true })).result;
  if (instances.length === 0)
    throw new UserError(`no service "${instance}" runs on this node: "kubus status" lists the services`);
  try {
    const program = start();
    const ended = once(program, 'exit') as Promise<[number | null]>;
    forwardSignals(program);
    printError('kubus: press Ctrl-C to stop it and start the bundled service again');
    const record = program.pid === undefined ? undefined : await recordOf(program.pid, instance);
    if (record !== undefined) await writeRecord(link.dir.processes, record);
    const [code] = await ended;
    return code ?? undefined;
  } finally {
    const back = nextEpoch(link, instance);
    await link.bus.call(runElsewhere, instance, { elsewhere: false });
    await back;
    printError(`kubus: the bundled ${instance} is ready again`);
  }
}

/** Forwards SIGTERM to the child. SIGINT is only ignored here: a terminal sends it to every process of its group. */
export function forwardSignals(child: ChildProcess): void {
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
}

/** The instance that `text` names: an instance, or a service, which means its first instance. Throws a {@link UserError} for any other name. */
export function instanceOf(text: string): string {
  const instance = /-\d+$/.test(text) ? text : `${text}-0`;
  if (!everyService.some((service) => service === serviceOfInstance(instance))) {
    throw new UserError(`unknown service "${text}": use one of ${everyService.join(', ')}`);
  }
  return instance;
}

/** The slot number of an instance, such as `0` of `prober-0`. */
export function slotOf(instance: string): string {
  return instance.slice(instance.lastIndexOf('-') + 1);
}

/** Resolves when the instance has announced itself with a greater epoch. */
function nextEpoch(link: NodeLink, instance: string): Promise<void> {
  const present = [...link.bus.peers].find((peer) => peer.instance === instance)?.epoch ?? 0;
  return new Promise((resolve) => {
    link.bus.onPeer((_service, peer, epoch) => {
      if (peer === instance && epoch > present) resolve();
    });
  });
}
