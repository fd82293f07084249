import {
  type InstanceCounts,
  type NodeSettings,
  everyService,
  nodeNetworks,
  parsePublishedPort,
  parseRegistry,
  readPlacement,
  readPrivateConfig,
} from '@kubus/launcher';
import { toError } from '@kubus/ports';
import type { Placement } from '@kubus/service-kit';
import { InvalidArgumentError, Option } from 'commander';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { checkout, natsFolderOption } from '../nats-option.ts';
import { scaleOption } from '../node/scale-option.ts';
import { outputOption } from '../output/output.ts';

/** What `up` was given; paths are absolute. */
export interface UpOptions {
  manifests: string;
  nats?: string;
  natsFolder: string;
  natsCa?: string;
  hub?: string;
  hubCa?: string;
  hubCredentials?: string;
  containerd?: string;
  kubeconfig?: string;
  api?: boolean;
  config?: NodeSettings['config'];
  network?: NodeSettings['network'];
  publish: string[];
  registry: string[];
  registryHosts?: string;
  elsewhere: string[];
  placement: Placement;
  observatory?: boolean;
  faults?: boolean;
  journal?: boolean;
  scale: InstanceCounts;
  logLevel: NodeSettings['logLevel'];
  restart?: boolean;
  foreground?: boolean;
  output?: 'json' | 'yaml';
  quiet?: boolean;
  verbose?: boolean;
}

/** The manifests of a node for which none are named. */
export const exampleManifests = join(checkout, 'examples/manifests');

/** The options of `up`. */
export function upOptions(): Option[] {
  return [
    new Option('--manifests <path>', 'manifest file, or folder of manifests')
      .argParser(existingPath)
      .default(exampleManifests),
    new Option('--nats <url>', 'use an external NATS server: nats://HOST:PORT or tls://HOST:PORT').env('KUBUS_NATS'),
    natsFolderOption(),
    new Option('--nats-ca <file>', 'CA certificates of a tls:// server (PEM); default: the system’s').env(
      'KUBUS_NATS_CA',
    ),
    new Option('--hub <url>', 'send the node’s events to this hub: nats-leaf://HOST:PORT or tls://HOST:PORT')
      .env('KUBUS_HUB')
      .conflicts('nats'),
    new Option('--hub-ca <file>', 'CA certificates of a tls:// hub (PEM); default: the system’s').env('KUBUS_HUB_CA'),
    new Option('--hub-credentials <file>', 'file with USER:PASSWORD for the hub, mode 600').env(
      'KUBUS_HUB_CREDENTIALS',
    ),
    new Option(
      '--kubeconfig <path>',
      'join the cluster of this kubeconfig; its user must be system:node:<name>',
    ).argParser(existingPath),
    new Option(
      '--api',
      'give the node a Kubernetes API of its own, for kubectl: see kubus kubectl, kubus kubeconfig; the default without --kubeconfig',
    ).conflicts('kubeconfig'),
    new Option('--no-api', 'no API: the node runs the pods of its folder alone'),
    new Option(
      '--config <file>',
      'a KubeletConfiguration: pods, images, logs, DNS, eviction and reservations of the node (docs/tasks/run-a-pod.md)',
    ).argParser((value) => valid(() => readPrivateConfig(value))),
    new Option(
      '--containerd <path>',
      'use this containerd instead of the machine’s: its binary, or a folder that contains it',
    ).argParser(existingPath),
    new Option(
      '--network <kind>',
      'nat: pods and pulls reach what the machine reaches; none: only this node; host: as nat, in the machine’s own network, to which the node adds a bridge, firewall rules, forwarding and free ports until "down"; default: nat if pasta is installed',
    )
      .choices(nodeNetworks)
      .env('KUBUS_NETWORK'),
    listOption(
      '--publish <port...>',
      'open [ADDRESS:]PORT of the machine for NODE_PORT of the node: 8080:80',
      parsePublishedPort,
    ),
    listOption(
      '--registry <port...>',
      'let the node reach a registry on the machine’s loopback: localhost:5000',
      parseRegistry,
    ),
    new Option(
      '--registry-hosts <folder>',
      'folder of containerd’s hosts.toml files, for mirrors and insecure registries; default: /etc/containerd/certs.d',
    ).argParser(existingPath),
    new Option('--elsewhere <service...>', 'do not start these services: you run them yourself')
      .choices(everyService)
      .default([]),
    new Option(
      '--placement <separate|hosted|file>',
      'a process for each service, one for all (less memory and CPU, but they fail together), or the groups of a YAML file',
    )
      .argParser((value) => valid(() => readPlacement(value)))
      .default('separate'),
    new Option('--observatory', 'record every message of the node, for "kubus observatory" and "kubus record"'),
    new Option('--no-observatory', 'with --restart: no longer'),
    new Option('--faults', 'allow fault injection: see kubus fault, kubus experiment').conflicts('nats'),
    new Option('--no-faults', 'with --restart: no longer'),
    new Option('--journal', 'let services publish journals of their inputs, for "kubus replay"'),
    new Option('--no-journal', 'with --restart: no longer'),
    scaleOption(),
    new Option('--log-level <level>', 'log level of the services')
      .choices(['debug', 'info', 'warn', 'error'])
      .default('info'),
    new Option('--restart', 'start the services of a running node again with the given options; pods keep running'),
    new Option('--foreground', 'keep running, print changes of pods, and remove the node at Ctrl-C').conflicts(
      'output',
    ),
    outputOption(),
    new Option('--quiet', 'print nothing but errors, and the document of --output').conflicts([
      'verbose',
      'foreground',
    ]),
    new Option('--verbose', 'also print what the build, package managers and the launcher print'),
  ];
}

/** What `read` returns; its error is one of the argument. */
function valid<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new InvalidArgumentError(toError(error).message);
  }
}

/** Parses the path of something that exists. Throws commander's InvalidArgumentError. */
export function existingPath(path: string): string {
  if (!existsSync(path)) throw new InvalidArgumentError('It does not exist.');
  return resolve(path);
}

/** An option that may be given several times; each value must be one that `parse` accepts. */
function listOption(flags: string, about: string, parse: (text: string) => unknown): Option {
  const add = (text: string, before: readonly string[]) => {
    valid(() => parse(text));
    return [...before, text];
  };
  return new Option(flags, about).argParser(add).default([]);
}
