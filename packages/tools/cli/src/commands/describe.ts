import type { Command } from 'commander';
import { claimUse, encodeToken, manifest, podNetwork, podVolumes } from '@kubus/contracts';
import { describeManifest } from '../describe/describe-manifest.ts';
import { describeNode } from '../describe/describe-node.ts';
import { describeEvents } from '../describe/describe-events.ts';
import { describeClaims, describeNetwork, describePod, describeVolumes } from '../describe/describe-pod.ts';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { readEvents } from '../pods/event-feed.ts';
import { Pods, podDocument } from '../pods/pods.ts';
import { eventsOf, newestEvents } from '@kubus/causality';
import { followNode, nodes } from '../resources/nodes.ts';
import { manifests } from '../resources/manifests.ts';
import { notFound } from '../resources/select-items.ts';
import { type Asked, askedFor } from '../resources/types.ts';
import { UserError } from '../user-error.ts';

interface DescribeOptions {
  readonly namespace?: string;
  readonly output?: 'json' | 'yaml';
}

/** A description as text, and what prints it as a document. */
interface Description {
  readonly lines: readonly string[];
  readonly document: (format: 'json' | 'yaml') => void;
}

export function addDescribe(program: Command): void {
  const describe = withOptions(program.command('describe'))
    .argument('<type>', 'pod, node or manifest, or TYPE/NAME')
    .argument('[name]', 'name of the object; not needed for the node')
    .description('show the details of a pod, of the node or of a manifest')
    .action(async (type: string, name: string | undefined, _options: object, command: Command) => {
      await run(askedFor([type, ...(name === undefined ? [] : [name])]), command);
    });
  withOptions(describe.command('pod'))
    .aliases(['pods', 'po'])
    .argument('<name>', 'name of the pod')
    .description('show spec, status, volumes, network and events of a pod')
    .action(async (name: string, _options: object, command: Command) => {
      await run(askedFor(['pod', name]), command);
    });
  withOptions(describe.command('node'))
    .aliases(['nodes', 'no'])
    .argument('[name]', 'name of the node')
    .description('show conditions, resources, pods and events of the node')
    .action(async (name: string | undefined, _options: object, command: Command) => {
      await run(askedFor(['node', ...(name === undefined ? [] : [name])]), command);
    });
}

function withOptions(command: Command): Command {
  return command
    .option('-n, --namespace <namespace>', 'namespace of the pod; default: default')
    .addOption(outputOption());
}

async function run(asked: readonly Asked[], command: Command): Promise<void> {
  const [one, ...others] = asked;
  if (one === undefined || others.length > 0 || one.names.length > 1)
    throw new UserError('describe shows one object: name one');
  const { type, names } = one;
  const { node, namespace = 'default', output } = command.optsWithGlobals<DescribeOptions & { node: string }>();
  const [name] = names;
  const describe = describers[type.name];
  if (describe === undefined) {
    throw new UserError(`${type.name} have no description: "kubus get ${type.name} -o yaml" prints them`);
  }
  if (name === undefined && type !== nodes)
    throw new UserError(`name the ${type.singular}: describe ${type.singular} NAME`);
  const { lines, document } = await describe(await connectNode(node), name ?? node, namespace);
  if (output === undefined) print(lines.join('\n'));
  else document(output);
}

const describers: Readonly<Record<string, (link: NodeLink, name: string, namespace: string) => Promise<Description>>> =
  {
    pods: async (link, name, namespace) => {
      const pod = (await Pods.read(link)).find(name, namespace, link.bus.node);
      const network = (await link.facts(podNetwork)).get(pod.uid)?.value;
      const claims = (await link.facts(claimUse)).get(pod.uid)?.value;
      const volumes = (await link.facts(podVolumes)).get(pod.uid)?.value;
      const events = newestEvents(await link.record(eventsOf(encodeToken(pod.uid))));
      return {
        lines: [
          ...describePod(pod, link.bus.node),
          ...describeVolumes(pod.work.pod, volumes),
          ...describeNetwork(network),
          ...describeClaims(claims),
          ...describeEvents(events, Date.now()),
        ],
        document: (format) =>
          printKubusDocument(
            'PodDescription',
            { pod: podDocument(pod), worker: pod.worker, volumes, network, events },
            format,
          ),
      };
    },
    nodes: async (link, name) => {
      if (name !== link.bus.node) throw notFound(nodes, name, undefined);
      const node = (await followNode(link))();
      const pods = (await Pods.read(link)).list(undefined);
      const events = (await readEvents(link)).filter(({ object }) => object.kind === 'Node');
      const described = pods.map((pod) => ({ ...podDocument(pod), firstSeen: pod.work.firstSeen }));
      return {
        lines: [...describeNode(node, described, Date.now()), ...describeEvents(events, Date.now())],
        document: (format) =>
          printKubusDocument('NodeDescription', { node, pods: pods.map(podDocument), events }, format),
      };
    },
    manifests: async (link, name) => {
      const found = [...(await link.facts(manifest))].find(({ value }) => value.path === name);
      if (found === undefined) throw notFound(manifests, name, undefined);
      return {
        lines: describeManifest(found.value),
        document: (format) => printKubusDocument('ManifestDescription', { manifest: found.value }, format),
      };
    },
  };
