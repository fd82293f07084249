// The host's volumes in a mount namespace of their own, in which mount.nfs(8) and umount(8) are stand-ins: the kernel
// of a test's machine may lack NFS. mount(8) is the real one, and finds the stand-in as its helper. Executes each line
// of its input, and answers with a line. Timeouts are measured by a clock that only the input advances.
import type { Logger } from '@kubus/ports';
import { systemClock } from '@kubus/service-kit';
import type { VolumeStep } from '@kubus/volume';
import { createInterface } from 'node:readline';
import { mock } from 'node:test';
import { createVolumeHost } from '../src/index.ts';
import { everything } from './test-root.ts';

/** `pass`: advances the clock by so many milliseconds during an operation; it has no answer. */
export type NfsRequest = NfsWork | { readonly pass: number };
type NfsWork = { readonly make: VolumeStep } | { readonly remove: string } | { readonly list: true };
export interface NfsAnswer {
  readonly result?: unknown;
  readonly error?: string;
  /** The log since the last answer. */
  readonly logged: readonly string[];
}

const [root = '', limitMs = ''] = process.argv.slice(2);
let logged: string[] = [];
const log = (_fields: unknown, message: string) => void logged.push(message);
const logger: Logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
const limits = { mountMs: Number(limitMs), unmountMs: Number(limitMs) };
const host = createVolumeHost({ root, clock: systemClock, logger, limits });

async function act(request: NfsWork): Promise<unknown> {
  if ('make' in request) return (await host.make(request.make, () => {})).volume;
  if ('remove' in request) return host.remove(request.remove);
  return everything(root);
}

async function answer(request: NfsWork): Promise<void> {
  const said = await act(request).then(
    (result) => ({ result }),
    (error: unknown) => ({ error: (error as Error).message }),
  );
  process.stdout.write(`${JSON.stringify({ ...said, logged } satisfies NfsAnswer)}\n`);
  logged = [];
}

mock.timers.enable({ apis: ['setTimeout'] });
for await (const line of createInterface(process.stdin)) {
  const request = JSON.parse(line) as NfsRequest;
  if ('pass' in request) mock.timers.tick(request.pass);
  else void answer(request);
}
process.exit(0);
