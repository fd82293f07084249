import type { StatusResponse } from '@kubus/proto/cri';

/**
 * The handlers that the runtime is configured with. From containerd 2 on the status lists them; before, only the verbose
 * status shows the configuration. Undefined for a runtime that reports neither: then Kubus' configuration is used.
 */
export function handlersOf(status: StatusResponse): string[] | undefined {
  const listed = status.runtimeHandlers ?? [];
  if (listed.length > 0) return listed.map(({ name = '' }) => name);
  const config = status.info?.['config'];
  if (config === undefined) return undefined;
  const { containerd } = parse(config);
  return containerd?.runtimes && Object.keys(containerd.runtimes);
}

/** Another runtime's configuration need not be JSON. */
function parse(config: string): { containerd?: { runtimes?: Record<string, unknown> } } {
  try {
    return JSON.parse(config) as { containerd?: { runtimes?: Record<string, unknown> } };
  } catch {
    return {};
  }
}
