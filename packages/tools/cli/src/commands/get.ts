import { manifest } from '@kubus/contracts';
import type { Command } from 'commander';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { type OutputFormat, outputOption, printDocument, print, printError } from '../output/output.ts';
import { type PodView, Pods, columnsOf, podDocument } from '../pods/pods.ts';
import type { PodColumns } from '../pods/pod-columns.ts';
import { formatAge, formatTable } from '../output/table.ts';

interface GetPodsOptions {
  namespace: string;
  allNamespaces?: boolean;
  output?: OutputFormat;
  watch?: boolean;
}

export function addGet(program: Command): void {
  const get = program.command('get').description('list pods or manifests');
  get
    .command('pods')
    .aliases(['pod', 'po'])
    .argument('[name]', 'list only this pod')
    .description('list pods')
    .option('-n, --namespace <namespace>', 'namespace of the pods', 'default')
    .option('-A, --all-namespaces', 'list the pods of all namespaces')
    .option('-w, --watch', 'keep running and print each change')
    .addOption(outputOption(['json', 'yaml', 'wide']))
    .action(async (name: string | undefined, options: GetPodsOptions, command: Command) => {
      await getPods(await connectNode(command.optsWithGlobals<{ node: string }>().node), name, options);
    });
  get
    .command('manifests')
    .aliases(['manifest'])
    .description('list manifest files and their errors')
    .addOption(outputOption())
    .action(async (options: { output?: 'json' | 'yaml' }, command: Command) => {
      await getManifests(await connectNode(command.optsWithGlobals<{ node: string }>().node), options.output);
    });
}

async function getPods(link: NodeLink, name: string | undefined, options: GetPodsOptions): Promise<void> {
  const { output, watch } = options;
  const namespace = options.allNamespaces === true ? undefined : options.namespace;
  const changed = new Set<string>();
  const onChange = { print: () => undefined as unknown };
  const pods = await Pods.read(link, (uid) => {
    changed.add(uid);
    onChange.print();
  });
  const one = name === undefined ? undefined : pods.find(name, options.namespace, link.bus.node);
  const list = one === undefined ? pods.list(namespace) : [one];
  if (output === 'json' || output === 'yaml') {
    const items = list.map(podDocument);
    printDocument(one === undefined ? { apiVersion: 'v1', kind: 'List', items } : items[0], output);
    return;
  }
  if (list.length === 0 && watch !== true) {
    const where = namespace === undefined ? '' : ` in ${namespace} namespace`;
    printError(`No resources found${where}.`);
    return;
  }
  const columns = { wide: output === 'wide', all: namespace === undefined, node: link.bus.node };
  const { header, rows } = podTable(list, columns);
  print(formatTable(header, rows));
  if (watch !== true) return;
  const widths = header.map((title, index) => Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const last = new Map<string, string>();
  changed.clear();
  onChange.print = () => {
    for (const uid of changed) {
      const pod = pods.get(uid);
      if (pod === undefined || (one !== undefined && one.uid !== uid)) continue;
      if (namespace !== undefined && pod.work.ref.namespace !== namespace) continue;
      const [row = []] = podTable([pod], columns).rows;
      const line = row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('   ')
        .trimEnd();
      // Print a row only when something other than a time has changed.
      const key = row
        .filter((_, index) => header[index] !== 'AGE')
        .join(' ')
        .replace(/ \(\S+ ago\)/, '');
      if (last.get(uid) !== key) print(line);
      last.set(uid, key);
    }
    changed.clear();
  };
  await new Promise(() => undefined);
}

/** kubectl's columns for pods. */
export function podTable(
  pods: readonly PodView[],
  columns: { wide: boolean; all: boolean; node: string },
): { header: string[]; rows: string[][] } {
  const header = [
    ...(columns.all ? ['NAMESPACE'] : []),
    'NAME',
    'READY',
    'STATUS',
    'RESTARTS',
    'AGE',
    ...(columns.wide ? ['IP', 'NODE'] : []),
  ];
  const rows = pods.map((pod) => {
    const { work, status } = pod;
    const printed = columnsOf(pod);
    return [
      ...(columns.all ? [work.ref.namespace] : []),
      work.ref.name,
      `${printed.ready}/${printed.total}`,
      printed.status,
      restartsText(printed),
      formatAge(Date.now() - Date.parse(status?.startTime ?? work.firstSeen)),
      ...(columns.wide ? [status?.podIP ?? '<none>', columns.node] : []),
    ];
  });
  return { header, rows };
}

function restartsText({ restarts, restartedAt }: PodColumns): string {
  if (restarts === 0 || restartedAt === undefined) return String(restarts);
  return `${restarts} (${formatAge(Date.now() - Date.parse(restartedAt))} ago)`;
}

async function getManifests(link: NodeLink, output: 'json' | 'yaml' | undefined): Promise<void> {
  const reports = [...(await link.facts(manifest))].map(({ value }) => value);
  reports.sort((a, b) => (a.path < b.path ? -1 : 1));
  if (output !== undefined) {
    printDocument(reports, output);
    return;
  }
  const rows = reports.map(({ path, pods, errors, warnings }) => [
    path,
    String(pods.length),
    errors.length > 0 ? 'Broken' : warnings.length > 0 ? 'Warnings' : 'OK',
    [...errors, ...warnings].map(({ field, message, line }) => `${place(field, line)}${message}`).join('; '),
  ]);
  print(formatTable(['FILE', 'PODS', 'STATE', 'MESSAGE'], rows));
}

function place(field: string | undefined, line: number | undefined): string {
  if (field !== undefined) return `${field}: `;
  return line === undefined ? '' : `line ${line}: `;
}
