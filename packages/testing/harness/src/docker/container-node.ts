import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeCgroupRoot } from '@kubus/launcher';
import * as z from 'zod';
import { checkout } from '../kubus-command.ts';
import { poll } from '../poll.ts';
import { makeTestFolder, removeTestFolder } from '../test-folder.ts';
import { DockerEngine } from './docker-engine.ts';
import type { DockerPrograms } from './docker-programs.ts';
import { makeNodeImages, nodeImages } from './node-images.ts';

/** The services of docker-compose.yml that are services of the node. */
export const composeServices = [
  ...['launcher', 'config-sources', 'sync-loop', 'pod-workers', 'cri-bridge', 'cni-bridge'],
  ...['volume-manager', 'prober', 'node-agent', 'node-api', 'observatory'],
];

const psSchema = z.object({ Service: z.string(), State: z.string(), Health: z.string() });
const podsSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), uid: z.string() }),
      status: z.object({
        phase: z.string().optional(),
        podIP: z.string().optional(),
        conditions: z.array(z.object({ type: z.string(), lastTransitionTime: z.string().nullish() })).default([]),
        containerStatuses: z
          .array(z.object({ ready: z.boolean(), restartCount: z.int(), containerID: z.string().optional() }))
          .default([]),
      }),
    }),
  ),
});

/** A pod as `kubus get pods` shows it. */
export interface SeenPod {
  readonly name: string;
  readonly uid: string;
  readonly phase: string | undefined;
  readonly ip: string | undefined;
  readonly ready: boolean;
  /** When `ready` last changed. */
  readonly readySince: string | undefined;
  /** Ids of its containers, and the sum of their restarts. */
  readonly containers: readonly string[];
  readonly restarts: number;
}

/** A node of docker-compose.yml on a Docker engine of the test's own, with images made of this machine's files. */
export class ContainerNode {
  readonly engine: DockerEngine;
  readonly name: string;
  readonly folder: string;
  readonly #env: Record<string, string>;

  /** @throws HarnessError `NoDocker` when no engine can run on this machine. */
  static async start(programs: DockerPrograms): Promise<ContainerNode> {
    const folder = await makeTestFolder();
    const engine = await DockerEngine.start(programs, folder).catch(async (error: unknown) => {
      await removeTestFolder(folder);
      throw error;
    });
    const node = new ContainerNode(engine, folder);
    try {
      await mkdir(node.manifests);
      await makeNodeImages(engine, folder);
      return node;
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  private constructor(engine: DockerEngine, folder: string) {
    this.engine = engine;
    this.folder = folder;
    this.name = `test-${folder.slice(folder.lastIndexOf('-') + 1)}`;
    this.#env = {
      KUBUS_NODE: this.name,
      KUBUS_IMAGE: nodeImages.kubus,
      KUBUS_CONTAINERD_IMAGE: nodeImages.containerd,
      NATS_IMAGE: nodeImages.nats,
      KUBUS_MANIFESTS: this.manifests,
      KUBUS_OVERLAY_FOLDER: join(folder, 'overlay'),
    };
  }

  /** The folder that is mounted as the one of manifests. */
  get manifests(): string {
    return join(this.folder, 'manifests');
  }

  /** Runs `docker compose`; returns its standard output. */
  compose(...args: readonly string[]): Promise<string> {
    return this.engine.docker(['compose', '--file', join(checkout, 'docker-compose.yml'), ...args], this.#env);
  }

  /** Runs the command line program that the node has installed on its machine. */
  kubus(...args: readonly string[]): Promise<string> {
    return this.engine.onMachine(`/var/lib/kubus/${this.name}/bin/kubus`, '--node', this.name, ...args);
  }

  /** The state of each service that Compose keeps running, such as `running healthy`. */
  async states(): Promise<ReadonlyMap<string, string>> {
    const lines = (await this.compose('ps', '--all', '--format', 'json')).trim().split('\n');
    const all = lines.map((line) => psSchema.parse(JSON.parse(line)));
    return new Map(all.map(({ Service, State, Health }) => [Service, `${State} ${Health}`.trim()]));
  }

  async pods(): Promise<SeenPod[]> {
    const { items } = podsSchema.parse(JSON.parse(await this.kubus('get', 'pods', '-A', '-o', 'json')));
    return items.map(({ metadata, status }) => ({
      name: metadata.name.replace(`-${this.name}`, ''),
      uid: metadata.uid,
      phase: status.phase,
      ip: status.podIP,
      ready: status.containerStatuses.length > 0 && status.containerStatuses.every(({ ready }) => ready),
      readySince: status.conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? undefined,
      containers: status.containerStatuses.map(({ containerID = '' }) => containerID),
      restarts: status.containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    }));
  }

  /** Resolves with the pod once `isWanted` holds; ignores failures of the command line meanwhile, as services may be down. */
  pod(name: string, isWanted: (pod: SeenPod) => boolean): Promise<SeenPod> {
    return poll(`pod ${name}`, async () => {
      const pods = await this.pods().catch(() => []);
      return pods.find((pod) => pod.name === name && isWanted(pod));
    });
  }

  async writeManifest(name: string, manifest: object): Promise<void> {
    const path = join(this.manifests, `${name}.json`);
    await writeFile(path, JSON.stringify(manifest));
  }

  async removeManifest(name: string): Promise<void> {
    await rm(join(this.manifests, `${name}.json`));
  }

  /** The PID of process 1 of a service's container, on the machine. */
  async keeper(service: string): Promise<number> {
    const format = '{{.State.Pid}}';
    return Number(await this.engine.docker(['inspect', '--format', format, `kubus-${service}-1`]));
  }

  /** The PID of the program that process 1 of a service's container keeps running; undefined while there is none. */
  async served(service: string): Promise<number | undefined> {
    return this.engine.keptBy(await this.keeper(service));
  }

  async kill(pid: number): Promise<void> {
    await this.engine.onMachine('kill', '-KILL', String(pid));
  }

  async stop(): Promise<void> {
    await this.engine.stop();
    await removeCgroupRoot(`/kubus-${this.name}`);
    await removeTestFolder(this.folder);
  }
}
