import { KubusError } from '@kubus/ports';
import type { PluginType } from '../registration/registration.ts';
import { DraPlugin } from './dra-plugin.ts';

/** A driver of resource claims. */
export interface RegisteredDraDriver {
  readonly driver: string;
  readonly plugin: DraPlugin;
}

/** The services with which a driver prepares claims, the newest first. */
const SERVICES = ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const;
export type DraService = (typeof SERVICES)[number];

/** The registration of drivers of resource claims (behaviour:resource-managers, DRA). */
export const draPlugins: PluginType<RegisteredDraDriver> = {
  type: 'DRAPlugin',
  several: true,
  validate: ({ name, endpoint, supportedVersions }) => void serviceOf(name, endpoint, supportedVersions),
  open: ({ name, endpoint, supportedVersions }) =>
    Promise.resolve({
      driver: name,
      plugin: new DraPlugin(endpoint, serviceOf(name, endpoint, supportedVersions)),
    }),
};

/** The first of the driver's services that is known here. Throws when there is none. */
function serviceOf(name: string, endpoint: string, supported: readonly string[]): DraService {
  const found = supported.map((one) => SERVICES.find((known) => known === one)).find((one) => one !== undefined);
  if (found !== undefined) return found;
  const why =
    supported.length === 0
      ? 'empty list of supported gRPC services (aka supported versions)'
      : `none of services supported by the plugin (${quoted(supported)}) are supported by the kubelet (${quoted(SERVICES)})`;
  const what = `invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}`;
  throw new KubusError('refused', `${what}: ${why}`);
}

function quoted(list: readonly string[]): string {
  return `[${list.map((one) => JSON.stringify(one)).join(' ')}]`;
}
