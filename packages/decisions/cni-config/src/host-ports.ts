import type { AttachmentRecord } from './attachment-record.ts';

/**
 * The host's interfaces that the host ports of an attachment go through; none when it has no host ports. The plugin `portmap` sets
 * `route_localnet` of one of them, and never takes it back.
 */
export function hostPortInterfaces(record: AttachmentRecord): readonly string[] {
  if (!hasHostPorts(record)) return [];
  return (record.result?.interfaces ?? []).filter(({ sandbox = '' }) => sandbox === '').map(({ name }) => name);
}

/** Whether the pod has host ports. */
export function hasHostPorts({ capabilityArgs: { portMappings } }: AttachmentRecord): boolean {
  return Array.isArray(portMappings) && portMappings.length > 0;
}
