import { ownerOf } from '@kubus/admission';
import {
  type ManifestReport,
  manifest,
  networkCondition,
  podWork,
  runtimeCondition,
  serviceShare,
  stuckService,
} from '@kubus/contracts';
import {
  type NodeShape,
  descriptorsText,
  instancesOf,
  nodeConfigFile,
  processOf,
  readRecords,
  readSettings,
  readShape,
  servicesOf,
  withoutDescriptors,
} from '@kubus/launcher';
import { formatAge } from '@kubus/pod';
import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import { connectionLines, connectionsOf } from '../node/connections.ts';
import { dnsLine, readDns } from '../node/dns.ts';
import { ANSWER_MS, readiness } from '../node/readiness.ts';
import { networkInterfaces } from 'node:os';

interface ServiceState {
  readonly instance: string;
  /** Its process, which several instances may share. */
  readonly process: string;
  readonly state: 'Ready' | 'NotReady' | 'Down';
  readonly version: string;
  readonly pid: number | undefined;
  /** Round trip of a request over NATS, in milliseconds. */
  readonly latencyMs: number | undefined;
  /** Number of pods that the instance owns; undefined for a service whose instances do not share the pods. */
  readonly pods: number | undefined;
  /** Failed checks of the service's /readyz. */
  readonly problems: readonly string[];
  /** How often, and when and why last, the launcher ended it because it no longer answered. */
  readonly stuck?: { readonly count: number; readonly at: string; readonly reason: string } | undefined;
}

/** How many errors of manifests are shown; "kubus get manifests" has all. */
const SHOWN_FAULTS = 3;

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('show the health, version and latency of each service, and the state of runtime and network')
    .addOption(outputOption())
    .action(async (options: { output?: 'json' | 'yaml' }, command: Command) => {
      await status(await connectNode(command.optsWithGlobals<{ node: string }>().node), options.output);
    });
}

/** The health of a node's services, its runtime and its network. */
export async function healthOf(link: NodeLink) {
  const [runtimes, networks, read, ended] = await Promise.all([
    link.facts(runtimeCondition),
    link.facts(networkCondition),
    link.facts(manifest),
    link.facts(stuckService),
  ]);
  const reports = [...read].map(({ value }) => value);
  const faults = manifestFaults(reports);
  const manifests = { count: reports.length, faulty: new Set(faults.map(({ path }) => path)).size, faults };
  const runtime = [...runtimes][0]?.value;
  const network = [...networks][0]?.value;
  const settings = await readSettings(link.dir);
  const shape: NodeShape = (await readShape(link.dir)) ?? { placement: 'separate', instances: {} };
  // This process is in the node's network namespace.
  const connections = settings && connectionsOf(link.dir, settings, networkInterfaces());
  const dns = readDns(nodeConfigFile(link.dir));
  const expected = [...servicesOf(shape).flatMap((service) => instancesOf(service, shape.instances)), 'launcher-0'];
  const pods = await podsOf(link);
  const records = await readRecords(link.dir.processes);
  const services: ServiceState[] = [];
  // One after the other, so that a request's latency does not include the others'.
  for (const instance of expected.sort()) {
    const stuck = ended.get(instance)?.value;
    const state = await ask(link, instance);
    // A service that "kubus debug" or "replace" has moved out of its process has one of its own.
    const running = records.find(({ what, pid }) => what === instance && pid === state.pid)?.what;
    const process = running ?? processOf(instance, shape);
    services.push({
      ...state,
      process,
      pods: pods(instance),
      ...(stuck !== undefined && { stuck }),
    });
  }
  const processes = (await withoutDescriptors(link.dir.processes)).map((one) => ({
    ...{ process: one.process, pid: one.pid, problem: descriptorsText(one) },
  }));
  const healthy = processes.length === 0 && services.every(({ state }) => state === 'Ready');
  return { node: link.bus.node, healthy, services, processes, runtime, network, connections, dns, manifests };
}

async function status(link: NodeLink, output: 'json' | 'yaml' | undefined): Promise<void> {
  const health = await healthOf(link);
  const { healthy, services, processes, runtime, network, connections, dns, manifests } = health;
  if (output !== undefined) printKubusDocument('NodeHealth', health, output);
  else {
    const isShared = services.some(({ instance, process }) => process !== instance);
    const rows = services.map(({ instance, process, state, version, pid, latencyMs, pods, problems, stuck }) => [
      instance,
      ...(isShared ? [process] : []),
      state,
      version,
      pid === undefined ? '-' : String(pid),
      latencyMs === undefined ? '-' : `${latencyMs.toFixed(1)} ms`,
      pods === undefined ? '-' : String(pods),
      [...problems, ...(stuck === undefined ? [] : [stuckText(stuck)])].join('; '),
    ]);
    print(
      formatTable(
        ['SERVICE', ...(isShared ? ['PROCESS'] : []), 'STATE', 'VERSION', 'PID', 'LATENCY', 'PODS', 'PROBLEM'],
        rows,
      ),
    );
    print('');
    for (const { process: what, problem } of processes) print(`process  ${what}: ${problem}`);
    const name = runtime?.name === undefined ? 'unknown' : `${runtime.name} ${runtime.version ?? ''}`;
    print(`runtime  ${name}: ${runtime?.ready === true ? 'ready' : (runtime?.message ?? 'unknown')}`);
    const by = runtime?.network === 'runtime' ? 'set up by the runtime' : (network?.file ?? 'no CNI configuration');
    print(
      `network  ${network?.network ?? '-'} (${by}): ${network?.ready === true ? 'ready' : (network?.message ?? '-')}`,
    );
    for (const { file, error } of network?.broken ?? []) print(`         ${file} is ignored: ${error}`);
    for (const line of connections === undefined ? [] : connectionLines(connections)) print(line);
    if (dns !== undefined) print(dnsLine(dns));
    if (manifests.faulty > 0) {
      print(`manifests  ${manifests.faulty} of ${manifests.count} have errors: see "kubus get manifests"`);
      for (const { path, message } of manifests.faults.slice(0, SHOWN_FAULTS)) print(`           ${path}: ${message}`);
    }
  }
  if (!healthy) process.exitCode = 1;
}

/** The errors of manifests, such as that another file has the pod; sorted by file. */
export function manifestFaults(reports: readonly ManifestReport[]): { path: string; message: string }[] {
  return reports
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .flatMap(({ path, errors }) =>
      errors.map(({ field, message }) => ({ path, message: field === undefined ? message : `${field}: ${message}` })),
    );
}

function stuckText({ count, at, reason }: NonNullable<ServiceState['stuck']>): string {
  const ago = formatAge(Date.now() - Date.parse(at));
  return `was stuck and ended ${count === 1 ? 'once' : `${count} times`}, last ${ago} ago: ${reason}`;
}

/** A function that counts the pods of an instance; undefined for a service whose instances do not share the pods. */
async function podsOf(link: NodeLink): Promise<(instance: string) => number | undefined> {
  const [works, shares] = await Promise.all([link.facts(podWork), link.facts(serviceShare)]);
  const uids = [...works].map(({ key }) => key);
  return (instance) => {
    const share = shares.get(instance.replace(/-\d+$/, ''))?.value;
    return share && uids.filter((uid) => ownerOf(uid, share.instances) === instance).length;
  };
}

async function ask(link: NodeLink, instance: string): Promise<Omit<ServiceState, 'pods' | 'process'>> {
  const peer = [...link.bus.peers].find((one) => one.instance === instance);
  const service = instance.replace(/-\d+$/, '');
  const ping = () => link.connection.request(`$SRV.PING.${service}.${instance}`, '', { timeout: ANSWER_MS });
  // The first request warms up both sides.
  const answered = await ping()
    .then(async () => {
      const began = performance.now();
      await ping();
      return performance.now() - began;
    })
    .catch(() => undefined);
  const problems = answered === undefined ? ['does not answer'] : await readiness(peer?.http);
  const state = answered === undefined ? 'Down' : problems.length === 0 ? 'Ready' : 'NotReady';
  return { instance, state, version: peer?.version ?? '-', pid: peer?.pid, latencyMs: answered, problems };
}
