import { hasErrno, toError } from '@kubus/ports';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ChartError } from './errors.ts';
import type { Values } from './values.ts';

/** What `helm template` is asked for. */
export interface HelmTemplate {
  readonly folder: string;
  readonly values: Values;
  readonly release: string;
  readonly namespace: string;
  readonly kubeVersion: string;
  readonly apiVersions: readonly string[];
}

/**
 * The manifests of a chart by the `helm` in the PATH, 3 or 4; undefined without one.
 *
 * @throws ChartError `BadTemplate` with Helm's message.
 */
export async function helmTemplate(wanted: HelmTemplate): Promise<string | undefined> {
  const { folder, values, release, namespace, kubeVersion, apiVersions } = wanted;
  const args = ['template', release, folder, '--namespace', namespace, '--kube-version', kubeVersion];
  const apis = apiVersions.flatMap((version) => ['--api-versions', version]);
  const running = promisify(execFile)('helm', [...args, ...apis, '--values', '-'], { maxBuffer: 64 * 1024 * 1024 });
  // JSON is YAML.
  running.child.stdin?.on('error', () => undefined).end(JSON.stringify(values));
  try {
    return (await running).stdout;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    const said = (error as { stderr?: string }).stderr?.trim() ?? '';
    throw new ChartError('BadTemplate', said === '' ? toError(error).message : said, { cause: error });
  }
}
