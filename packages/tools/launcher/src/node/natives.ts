import { installShim, linkShimSocket } from '@kubus/cni/shim-install';
import { compileAddon, compileStatic } from '@kubus/node-images';
import { fileURLToPath } from 'node:url';
import type { NodeDir } from './node-dir.ts';

const shimSource = fileURLToPath(new URL('../../../../adapters/cni/shim/kubus-cni.c', import.meta.url));
const shimParts = [
  fileURLToPath(new URL('../../../../adapters/cni/shim/frame.h', import.meta.url)),
  fileURLToPath(new URL('../../../../adapters/cni/shim/run-program.h', import.meta.url)),
];
const relaySource = fileURLToPath(new URL('../../../../adapters/cri/relay/relay.c', import.meta.url));
const portRelaySource = fileURLToPath(new URL('../../relay/port-relay.c', import.meta.url));
const dnsRelaySource = fileURLToPath(new URL('../../relay/dns-relay.c', import.meta.url));
const streamRelaySource = fileURLToPath(
  new URL('../../../../../services/node-api/relay/stream-relay.c', import.meta.url),
);
const mountHelperSource = fileURLToPath(
  new URL('../../../../adapters/filesystem/native/mount-helper.c', import.meta.url),
);
const mountHelperParts = [
  fileURLToPath(new URL('../../../../adapters/filesystem/native/project-quota.h', import.meta.url)),
];
const memoryWatchSource = fileURLToPath(new URL('../../../../adapters/cgroup/native/memory-watch.c', import.meta.url));
const mallocTrimSource = fileURLToPath(
  new URL('../../../../adapters/service-kit/native/malloc-trim.c', import.meta.url),
);
const sdNotifySource = fileURLToPath(new URL('../../native/sd-notify.c', import.meta.url));
const holdLockSource = fileURLToPath(new URL('../../native/hold-lock.c', import.meta.url));
const keepServiceSource = fileURLToPath(new URL('../../native/keep-service.c', import.meta.url));
const checkServiceSource = fileURLToPath(new URL('../../native/check-service.c', import.meta.url));

/** Paths of the compiled native programs. */
export interface Natives {
  /** The relay between cri-bridge and the runtime, which keeps calls open while cri-bridge restarts. */
  readonly relay: string;
  /** The relay between the node's network namespace and a server outside of it. */
  readonly portRelay: string;
  /** The relay from the node's network namespace to a resolver on the machine's loopback. */
  readonly dnsRelay: string;
  /** The relay between a client of the node's API and the runtime's streaming server. */
  readonly streamRelay: string;
  /** Makes the mounts of volume-manager, and keeps its project quotas. */
  readonly mountHelper: string;
  /** Waits for the kernel to say that memory is short. */
  readonly memoryWatch: string;
  /** The addon with which a process at rest gives free memory back. */
  readonly mallocTrim: string;
  /** Holds the lock on a file. */
  readonly holdLock: string;
  /** Process 1 of a service's container. */
  readonly keepService: string;
  /** The health check of a service in a container. */
  readonly checkService: string;
}

/** How each is compiled into a folder. */
const compilers: Readonly<Record<keyof Natives | 'shim', (cache: string) => Promise<string>>> = {
  shim: (cache) => compileStatic(shimSource, cache, shimParts),
  relay: (cache) => compileStatic(relaySource, cache),
  portRelay: (cache) => compileStatic(portRelaySource, cache),
  dnsRelay: (cache) => compileStatic(dnsRelaySource, cache),
  streamRelay: (cache) => compileStatic(streamRelaySource, cache),
  mountHelper: (cache) => compileStatic(mountHelperSource, cache, mountHelperParts),
  memoryWatch: (cache) => compileStatic(memoryWatchSource, cache),
  mallocTrim: (cache) => compileAddon(mallocTrimSource, cache),
  holdLock: (cache) => compileStatic(holdLockSource, cache),
  keepService: (cache) => compileStatic(keepServiceSource, cache),
  checkService: (cache) => compileStatic(checkServiceSource, cache),
};

/** Compiles the native programs into `cache`; programs that are there already are not compiled again. */
export async function compileNatives(cache: string): Promise<Natives & { shim: string }> {
  const compiled = Object.entries(compilers).map(async ([name, compile]) => [name, await compile(cache)] as const);
  return Object.fromEntries(await Promise.all(compiled)) as Record<keyof typeof compilers, string>;
}

/**
 * Compiles the program that sends notifications to systemd, on its own: to compile the others may take longer than systemd waits without
 * being asked to.
 */
export async function compileSdNotify(cache: string): Promise<string> {
  return compileStatic(sdNotifySource, cache);
}

/**
 * Compiles the native programs and installs the CNI shim under both names that a runtime calls,
 * with the link to cni-bridge's socket.
 */
export async function installNatives(
  dir: Pick<NodeDir, 'socket'> & { readonly cni: Pick<NodeDir['cni'], 'bin'> },
  cache: string,
): Promise<Natives> {
  const { shim, ...natives } = await compileNatives(cache);
  await installShim(shim, dir.cni.bin);
  await linkShimSocket(dir.cni.bin, dir.socket('cni'));
  return natives;
}
