import type { Bus } from '@kubus/bus';
import { ContainerConfigError, completeEnvironment, subPathOf } from '@kubus/container-config';
import { type MountedVolume, type SubPathMount, type SubPathsRequest, prepareSubPaths } from '@kubus/contracts';
import { WithinError } from '@kubus/filesystem';
import { type ObjectReader, environmentValues } from '@kubus/object-socket';
import { KubusError, type Logger, toError } from '@kubus/ports';
import type { PodVolumes } from '../pod/pod-volumes.ts';
import type { VolumeHost } from '../ports.ts';

export interface SubPathsOptions {
  readonly bus: Bus;
  readonly logger: Logger;
  readonly host: Pick<VolumeHost, 'subPath'>;
  readonly objects: ObjectReader;
  /** The volumes of a pod; undefined for an unknown pod. */
  readonly pod: (uid: string) => Pick<PodVolumes, 'use'> | undefined;
}

/**
 * Serves the command that prepares a container's subPaths. Paths may contain values of Secrets: no message and no
 * reply shows more of one than the pod's own manifest does.
 */
export function serveSubPaths(options: SubPathsOptions): void {
  options.bus.serve(prepareSubPaths, async (command) => {
    const { key, request } = command;
    const pod = options.pod(key);
    if (pod === undefined) throw notReady('the pod’s volumes are not known yet');
    return pod.use(async (volumes) => {
      command.begin();
      return { paths: await prepare(key, request, volumes, options) };
    });
  });
}

async function prepare(
  uid: string,
  request: SubPathsRequest,
  volumes: Readonly<Record<string, MountedVolume>>,
  options: SubPathsOptions,
): Promise<Record<string, string>> {
  const { container, mounts } = request;
  const { host, logger } = options;
  const variables = await variablesOf(request, options.objects);
  const paths: Record<string, string> = {};
  for (const mount of mounts) {
    const { index, volume } = mount;
    const path = pathOf(mount, variables);
    const hostPath = volumes[volume]?.hostPath;
    if (hostPath === undefined) throw notReady(`volume "${volume}" is not mounted`);
    try {
      paths[index] =
        path === undefined ? hostPath : await host.subPath({ uid, volume, container, index, hostPath, path });
    } catch (error) {
      const { message, name } = toError(error);
      const context = error instanceof KubusError ? error.context : {};
      logger.warn(
        { podUid: uid, volume, container, index, error: { name, message, ...context } },
        'cannot prepare a subPath',
      );
      const what = error instanceof WithinError && error.making ? 'create subPath directory' : 'prepare subPath';
      throw new ContainerConfigError(`failed to ${what} for volumeMount "${volume}" of container "${container}"`);
    }
  }
  return paths;
}

/** Only where a path uses them: values are not read unnecessarily. */
async function variablesOf(request: SubPathsRequest, reader: ObjectReader): Promise<ReadonlyMap<string, string>> {
  if (request.mounts.every(({ subPathExpr = '' }) => subPathExpr === '')) return new Map();
  const { objects, files } = await environmentValues(request, reader);
  return completeEnvironment(request.environment, objects, files);
}

function pathOf({ volume: name, subPath, subPathExpr }: SubPathMount, variables: ReadonlyMap<string, string>) {
  return subPathOf({ name, mountPath: '', subPath, subPathExpr }, variables);
}

function notReady(message: string): KubusError {
  return new KubusError('VolumesNotReady', message);
}
