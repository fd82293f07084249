import { Bus } from '@kubus/bus';
import { type ServiceContract, command, event, fact } from '@kubus/contracts';
import { type Logger, Random } from '@kubus/ports';
import * as z from 'zod';
import { MemoryBroker, Scheduler } from '../src/index.ts';

/** Facts, commands and events of two imaginary services, on the names of real ones. */
export const color = fact({
  area: 'config',
  name: 'color',
  key: 'name',
  owner: 'config-sources',
  payload: z.string(),
  about: 'A test fact.',
});
export const paint = command({
  area: 'runtime',
  name: 'paint',
  key: 'pod',
  server: 'cri-bridge',
  fenced: true,
  request: z.object({ color: z.string() }),
  result: z.object({ painted: z.string() }),
  about: 'A test command that needs the fencing token of its pod.',
});
export const fence = command({
  area: 'runtime',
  name: 'fence',
  key: 'pod',
  server: 'cri-bridge',
  fenced: false,
  request: z.object({ hold: z.number() }),
  result: z.object({}),
  about: 'A test fence.',
});
export const look = command({
  area: 'runtime',
  name: 'look',
  key: 'name',
  server: 'cri-bridge',
  fenced: false,
  request: z.object({}),
  result: z.object({ seen: z.number() }),
  about: 'A test command without effect.',
});
export const dried = event({
  area: 'runtime',
  name: 'dried',
  key: 'pod',
  publisher: 'cri-bridge',
  payload: z.object({ at: z.number() }),
  about: 'A test event.',
});

const nothing: ServiceContract = {
  about: 'test',
  owns: [],
  reads: [],
  serves: [],
  calls: [],
  publishes: [],
  hears: [],
};
export const contracts = {
  'config-sources': { ...nothing, owns: [color] },
  'cri-bridge': { ...nothing, serves: [paint, fence, look], publishes: [dried] },
  'pod-workers': { ...nothing, reads: [color], calls: [paint, fence, look], hears: [dried] },
} as const;

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

/** An environment with one broker; `join` starts a process with a bus. */
export function world(seed = 1) {
  const scheduler = new Scheduler();
  const broker = new MemoryBroker({ scheduler, node: 'n' });
  const random = new Random(seed);
  const join = (service: keyof typeof contracts, epoch = 1, slot = 0) => {
    const connection = broker.connect(`${service}-${slot}`);
    const bus = new Bus({
      node: 'n',
      service,
      instance: `${service}-${slot}`,
      epoch,
      contract: contracts[service],
      transport: connection,
      clock: scheduler,
      ids: random.fork(),
      logger: silent,
    });
    return { bus, connection };
  };
  /** Runs until `done` or 10 virtual minutes. */
  const until = async (done: () => boolean) => {
    if (!(await scheduler.run(done, 600_000))) throw new Error('did not happen within 10 virtual minutes');
  };
  /** Runs for `ms` of virtual time. */
  const quiet = (ms = 5_000) => scheduler.run(() => false, ms);
  return { scheduler, broker, random, join, until, quiet };
}

export const self = { version: '0', pid: 1, startedAt: '2030-01-01T00:00:00Z' };
