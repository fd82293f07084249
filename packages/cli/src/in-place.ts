import { runElsewhere } from '@kubus/contracts';
import { everyService, recordOf, writeRecord } from '@kubus/launcher';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { NodeLink } from './node-link.ts';
import { UserError } from './user-error.ts';

/**
 * Has a program run in the place of a bundled service until it ends, and brings the bundled one back then. It has to run in
 * the node's network. The program needs the node's mark (`nodeMark`) in its environment, so that the node's end is also its end.
 *
 * @param start called when the bundled one has ended.
 * @returns the program's exit code; undefined when a signal ended it.
 */
export async function inPlaceOf(
  link: NodeLink,
  instance: string,
  start: () => ChildProcess,
): Promise<number | undefined> {
  const { instances } = (await link.bus.call(runElsewhere, instance, { elsewhere: true })).result;
  if (instances.length === 0) throw new UserError(`no service "${instance}" runs on this node`);
  try {
    const program = start();
    const ended = once(program, 'exit') as Promise<[number | null]>;
    passOn(program);
    console.error('kubus: Ctrl-C brings the bundled one back');
    const record = program.pid === undefined ? undefined : await recordOf(program.pid, instance);
    if (record !== undefined) await writeRecord(link.dir.processes, record);
    const [code] = await ended;
    return code ?? undefined;
  } finally {
    const back = nextLife(link, instance);
    await link.bus.call(runElsewhere, instance, { elsewhere: false });
    await back;
    console.error(`kubus: the bundled ${instance} serves again`);
  }
}

/** Ctrl-C reaches every process of the terminal by itself; what else asks for the end is passed on. */
export function passOn(child: ChildProcess): void {
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
}

/** The instance that people mean by a service's name, which may be the instance's own. */
export function instanceOf(text: string): string {
  const instance = /-\d+$/.test(text) ? text : `${text}-0`;
  if (!everyService.some((service) => service === instance.replace(/-\d+$/, ''))) {
    throw new UserError(`there is no service "${text}": ${everyService.join(', ')}`);
  }
  return instance;
}

/** The slot of an instance. */
export function slotOf(instance: string): string {
  return instance.slice(instance.lastIndexOf('-') + 1);
}

/** Resolves when the instance has announced a life after its present one. */
function nextLife(link: NodeLink, instance: string): Promise<void> {
  const present = [...link.bus.peers].find((peer) => peer.instance === instance)?.epoch ?? 0;
  return new Promise((resolve) => {
    link.bus.onPeer((_service, peer, epoch) => {
      if (peer === instance && epoch > present) resolve();
    });
  });
}
