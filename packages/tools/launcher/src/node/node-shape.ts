import { nodeConfigSchema } from '@kubus/service-kit';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sharedConfig } from '../containers/container-dir.ts';
import type { NodeDir } from './node-dir.ts';
import type { NodeShape } from './node-services.ts';
import { readSettings } from './node-settings.ts';

/** Which processes a node has, by its settings, or by its configuration when it is in containers; undefined when there is no such node. */
export async function readShape(dir: NodeDir): Promise<NodeShape | undefined> {
  return (await readSettings(dir)) ?? (await readContainerShape(dir.root));
}

async function readContainerShape(root: string): Promise<NodeShape | undefined> {
  const text = await readFile(join(sharedConfig(root), 'node.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { apiServer, observatory, placement, instances } = nodeConfigSchema.parse(JSON.parse(text));
  return {
    placement,
    instances,
    kubeconfig: apiServer?.kubeconfig,
    observatory: observatory !== undefined,
  };
}
