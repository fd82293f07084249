// A bridge in a process of its own, as the service runs it but without the bus: shim socket, host plugins, journal in
// a file. Reads one JSON command per line and writes one JSON line per answer and event; ends when its input ends. A
// fault ends it with SIGKILL before or after an operation on the journal.
import { createInterface } from 'node:readline';
import { PluginHost, ShimServer, endLocalnetRouting, watchConfigFolder } from '@kubus/cni';
import type { Logger, RecordStore } from '@kubus/ports';
import { JournalRecordStore, systemClock } from '@kubus/service-kit';
import { type BridgeLimits, CniBridge } from '../src/index.ts';

/** The argument of the process, as JSON. */
export interface BridgeSetup {
  /** The path of its file. */
  readonly journal: string;
  readonly socket: string;
  readonly configs: string;
  readonly plugins: readonly string[];
  readonly mark: string;
  readonly limits?: Partial<BridgeLimits>;
  /** Whether the bridge runs all plugins itself, as it does for shims that cannot run them. */
  readonly plain?: boolean | undefined;
  /** When to end, for example "before put adding 0" or "after delete". */
  readonly fault?: string | undefined;
}

export type BridgeCommand =
  | { readonly command: 'state' }
  | { readonly command: 'check' }
  | { readonly command: 'podCidrs'; readonly podCidrs: readonly string[] }
  | { readonly command: 'collect'; readonly live: readonly string[] };

function say(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function logger(fields: object): Logger {
  const at = (level: string) => (more: object, message: string) => say({ log: { level, ...fields, ...more, message } });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more) => logger({ ...fields, ...more }),
  };
}

function breakAt(fault: string | undefined, place: string): void {
  if (fault === place) {
    process.kill(process.pid, 'SIGKILL');
  }
}

/** The journal, with the points at which a fault can occur. */
function faulty(store: RecordStore, fault: string | undefined): RecordStore {
  return {
    load: () => store.load(),
    keys: () => store.keys(),
    read: (key) => store.read(key),
    put: async (key, value) => {
      const { state, completed } = value as { state: string; completed: number };
      breakAt(fault, `before put ${state} ${completed}`);
      await store.put(key, value);
      breakAt(fault, `after put ${state} ${completed}`);
    },
    delete: async (key) => {
      breakAt(fault, 'before delete');
      await store.delete(key);
      breakAt(fault, 'after delete');
    },
  };
}

const setup = JSON.parse(process.argv[2] ?? '') as BridgeSetup;
const log = logger({});
const plugins = new PluginHost({ folders: setup.plugins, ownerMark: setup.mark });
const bridge = new CniBridge({
  clock: systemClock,
  logger: log,
  journal: faulty(new JournalRecordStore({ path: setup.journal, logger: log }), setup.fault),
  plugins,
  ...(setup.limits && { limits: setup.limits }),
  events: {
    onPlugin: (event) => say({ plugin: event }),
    onNetwork: (network) => say({ network }),
    onLastHostPort: (interfaces) => endLocalnetRouting(interfaces, log),
  },
});
const server = new ShimServer({
  socketPath: setup.socket,
  logger: log,
  handle: (invocation, shim) => bridge.handle(invocation, setup.plain === true ? plugins : plugins.through(shim)),
});
await server.listen();
watchConfigFolder(setup.configs, { clock: systemClock, logger: log, onFiles: (files) => bridge.useFiles(files) });
const { removals } = await bridge.recover();
say({ ready: true });
void removals.then(({ removed, failed }) => say({ recovered: { removed, failed: failed.length } }));

createInterface({ input: process.stdin })
  .on('line', (line) => void obey(JSON.parse(line) as BridgeCommand))
  .on('close', () => process.exit(0));

async function obey(command: BridgeCommand): Promise<void> {
  switch (command.command) {
    case 'state':
      say({ state: { attachments: bridge.attachments, network: bridge.network, load: bridge.load } });
      return;
    case 'check': {
      const { checked, failed } = await bridge.check();
      say({ checks: { checked, failed: failed.map(({ error }) => error.message) } });
      return;
    }
    case 'podCidrs':
      bridge.usePodCidrs(command.podCidrs);
      say({ podCidrs: command.podCidrs });
      return;
    case 'collect': {
      const { removed, failed } = await bridge.collect(new Set(command.live), systemClock.now());
      say({ collected: { removed, failed: failed.length } });
    }
  }
}
