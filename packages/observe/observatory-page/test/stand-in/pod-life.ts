import type { MessageKind } from '@kubus/contracts/observatory';

/** One message of a pod's life: its publisher, its causes, and typical times in milliseconds. */
export interface Step {
  readonly name: string;
  readonly service: string;
  readonly type: string;
  readonly kind: MessageKind;
  /** Names of earlier steps, the last awaited first. */
  readonly after: readonly string[];
  readonly bus: number;
  readonly queue: number;
  readonly work: number;
  readonly summary: string;
}

type Times = readonly [bus: number, work: number, queue?: number];

const config = 'config-sources';
const sync = 'sync-loop';
const workers = 'pod-workers';
const cri = 'cri-bridge';
const cni = 'cni-bridge';
const volumes = 'volume-manager';
const status = 'status-manager';
const prober = 'prober';
const objects = 'object-cache';
const agent = 'node-agent';

function step(name: string, service: string, type: string, after: string, times: Times, summary: string): Step {
  const [bus, work, queue = 0] = times;
  const kind = (type.split('.')[1] ?? 'event') as MessageKind;
  return {
    name,
    service,
    type: `${kind === 'reply' ? type.replace('.reply.', '.cmd.') : type}/1`,
    kind,
    after: after === '' ? [] : after.split(' '),
    bus,
    queue,
    work,
    summary,
  };
}

/** A command: sent, done. Its result is the step `<name>.done`. */
function call(name: string, after: string, server: string, area: string, ms: number, queue = 0): Step[] {
  const reply = `${area}.reply.${name}`;
  const base = name.split('#')[0] ?? name;
  const type = reply.replace(name, base);
  return [
    step(name, workers, `${area}.cmd.${base}`, after, [0.4, 1.1], base),
    step(`${name}.done`, server, type, name, [0.5, ms, queue], 'done'),
  ];
}

/** One container from its image to its run. */
function container(name: string, after: string, serial: number): Step[] {
  const of = (what: string): string => `${what}#${serial}`;
  return [
    ...call(of('findImage'), after, cri, 'runtime', 2.1),
    step(of('pulled'), workers, 'worker.event.recorded', `${of('findImage')}.done`, [0.4, 0.8], `Pulled ${name}`),
    ...call(of('CreateContainer'), `${of('findImage')}.done`, cri, 'runtime', 14, 3),
    step(
      of('created'),
      workers,
      'worker.event.recorded',
      `${of('CreateContainer')}.done`,
      [0.4, 0.5],
      `Created ${name}`,
    ),
    ...call(of('StartContainer'), `${of('CreateContainer')}.done`, cri, 'runtime', 38, 2),
    step(
      of('started'),
      workers,
      'worker.event.recorded',
      `${of('StartContainer')}.done`,
      [0.4, 0.9],
      `Started ${name}`,
    ),
    step(of('hint'), cri, 'runtime.event.hint', '', [0, 0], `CONTAINER_STARTED_EVENT ${name}`),
    step(of('runtime'), cri, 'runtime.fact.pod', `${of('StartContainer')}.done`, [0.2, 9], `${name} running`),
  ];
}

const start: readonly Step[] = [
  step('desired', config, 'config.fact.file', '', [0, 0], 'ADD'),
  step('work', sync, 'sync.fact.pod', 'desired', [1.2, 6, 4], 'sync desired'),
  step('devices', sync, 'device.cmd.allocate', 'desired', [1.2, 3], 'allocate'),
  step('devices.done', agent, 'device.reply.allocate', 'devices', [0.6, 1.5], 'done'),
  step('object', objects, 'object.fact.cached', 'work', [0.8, 5], 'ConfigMap default/web-config at 4711'),
  step('secret', objects, 'object.fact.cached', 'work', [0.8, 7], 'Secret default/web-key at 4712'),
  step('worker', workers, 'worker.fact.state', 'work', [0.7, 2.4, 1.4], 'syncing'),
  step('mounts', volumes, 'volume.fact.mounts', 'secret object work', [0.8, 9, 2], 'mounted 3 of 3'),
  step('mounted', volumes, 'volume.event.recorded', 'mounts', [0, 0.4], 'SuccessfulMountVolume'),
  ...call('fence', 'worker', cri, 'runtime', 2),
  step('pending', workers, 'worker.fact.status', 'fence.done', [0.5, 3], 'Pending'),
  step('pending.api', status, 'status.fact.write', 'pending', [0.8, 11, 3], 'patched status: Pending'),
  step('scheduled', status, 'status.fact.mirror', 'desired', [1, 22], 'mirror pod created'),
  ...call('RunPodSandbox', 'mounts fence.done', cri, 'runtime', 62, 8),
  step('plugin.bridge', cni, 'network.event.plugin', '', [0, 0], 'end ADD bridge'),
  step('plugin.portmap', cni, 'network.event.plugin', 'plugin.bridge', [0, 7.4], 'end ADD portmap'),
  step('network', cni, 'network.fact.pod', 'plugin.portmap', [0, 1.2], '10.88.0.7'),
  ...call('read', 'RunPodSandbox.done', cri, 'runtime', 2.6),
  step('runtime', cri, 'runtime.fact.pod', 'read', [0.4, 3.1], 'sandbox ready'),
  ...container('init', 'runtime read.done', 1),
  step('init.exit', cri, 'runtime.event.hint', 'StartContainer#1.done', [0.2, 28], 'CONTAINER_STOPPED_EVENT init'),
  step('init.read', cri, 'runtime.fact.pod', 'init.exit', [0, 4.2], 'init exited 0'),
  ...container('web', 'init.read', 2),
  ...container('client', 'StartContainer#2.done', 3),
  step('running', workers, 'worker.fact.status', 'runtime#3', [0.7, 2.4], 'Running'),
  step('running.api', status, 'status.fact.write', 'running', [0.8, 9, 2], 'patched status: Running'),
  step('probe.failed', prober, 'probe.event.recorded', 'runtime#2', [0.9, 14, 1], 'Unhealthy readiness probe: 503'),
  step('probe', prober, 'probe.fact.results', 'runtime#3', [0.9, 31, 6], 'web readiness success'),
  step('ready', workers, 'worker.fact.status', 'probe', [0.7, 2.2, 0.5], 'Running, Ready'),
  step('ready.api', status, 'status.fact.write', 'ready', [0.8, 8], 'patched status: Ready'),
];

const stop: readonly Step[] = [
  step('gone', config, 'config.fact.file', '', [0, 0], 'DELETE'),
  step('stop.work', sync, 'sync.fact.pod', 'gone', [1, 4], 'sync terminate'),
  step('stop.worker', workers, 'worker.fact.state', 'stop.work', [0.7, 1.8], 'terminating'),
  ...call('StopContainer', 'stop.worker', cri, 'runtime', 47, 2),
  step('killing', workers, 'worker.event.recorded', 'stop.worker', [0, 0.9], 'Killing Stopping container web'),
  ...call('StopPodSandbox', 'StopContainer.done', cri, 'runtime', 36, 3),
  step('plugin.del', cni, 'network.event.plugin', '', [0, 0], 'end DEL bridge'),
  step('stop.runtime', cri, 'runtime.fact.pod', 'StopPodSandbox.done', [0.2, 4], 'sandbox not ready'),
  step('succeeded', workers, 'worker.fact.status', 'stop.runtime', [0.6, 1.8], 'Succeeded'),
  step('terminated', workers, 'worker.fact.state', 'stop.runtime', [0.6, 3], 'terminated'),
  step('unmounted', volumes, 'volume.fact.mounts', 'terminated', [0.8, 6], 'mounted 0 of 3'),
  ...call('RemovePodSandbox', 'unmounted terminated', cri, 'runtime', 11),
  step('stop.api', status, 'status.fact.write', 'succeeded', [0.8, 12], 'deleted from the API server'),
  step('finished', workers, 'worker.fact.state', 'RemovePodSandbox.done', [0.5, 1.2], 'finished'),
];

/** A step without a cause, a number of milliseconds after another one: started by the runtime itself. */
export const begins: Readonly<Record<string, readonly [string, number]>> = {
  'plugin.bridge': ['RunPodSandbox', 36],
  'plugin.del': ['StopPodSandbox', 5],
  'hint#1': ['StartContainer#1', 32],
  'hint#2': ['StartContainer#2', 32],
  'hint#3': ['StartContainer#3', 32],
  gone: ['ready.api', 25_000],
};

export const podLife: readonly Step[] = [...start, ...stop];

/** First and last step of the two paths that are measured. */
export const measured = { start: ['desired', 'ready'], stop: ['gone', 'finished'] } as const;
