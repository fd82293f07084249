import type { TestNode } from '@kubus/harness';

/** What `kubus status -o json` says. */
export interface NodeHealth {
  readonly healthy: boolean;
  readonly services: readonly {
    readonly instance: string;
    readonly state: string;
    readonly problems: readonly string[];
    /** Missing for a service whose instances share no pods. */
    readonly pods?: number;
  }[];
  readonly runtime: { readonly ready: boolean; readonly message?: string } | undefined;
  readonly network: { readonly ready: boolean; readonly message?: string } | undefined;
}

/** A node as `kubus status` shows it. */
export async function healthOf(node: TestNode): Promise<NodeHealth> {
  const { code, stdout, stderr } = await node.kubus('status', '-o', 'json');
  if (stdout === '') throw new Error(`kubus status ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as NodeHealth;
}

/** What a service says is wrong with it. */
export async function problemsOf(node: TestNode, instance: string): Promise<string> {
  const { services } = await healthOf(node);
  return services.find((service) => service.instance === instance)?.problems.join('; ') ?? 'not there';
}
