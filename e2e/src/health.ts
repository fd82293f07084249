import type { TestNode } from '@kubus/harness';

/** The output of `kubus status -o json`. */
export interface NodeHealth {
  readonly healthy: boolean;
  readonly services: readonly {
    readonly instance: string;
    readonly state: string;
    readonly problems: readonly string[];
    /** How many pods the instance has; missing for a service whose instances share no pods. */
    readonly pods?: number;
  }[];
  readonly runtime: { readonly ready: boolean; readonly message?: string } | undefined;
  readonly network: { readonly ready: boolean; readonly message?: string } | undefined;
}

/** The node's health as `kubus status` shows it. */
export async function healthOf(node: TestNode): Promise<NodeHealth> {
  const { code, stdout, stderr } = await node.kubus('status', '-o', 'json');
  if (stdout === '') throw new Error(`kubus status ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as NodeHealth;
}

/** The problems that a service reports, in one text; `not running` when it is not on the bus. */
export async function problemsOf(node: TestNode, instance: string): Promise<string> {
  const { services } = await healthOf(node);
  return services.find((service) => service.instance === instance)?.problems.join('; ') ?? 'not running';
}
